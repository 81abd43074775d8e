"""`roost endpoint keys`: what callers show."""

import typer

from roost.cli import rendering, session
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT
from roost.domain.endpoints import Auth
from roost.domain.errors import InvalidEndpoint
from roost.sdk.services.webservices import Webservice


def keys(
    name: str = ENDPOINT,
    renew: str = typer.Option("", "--renew", help="Make this one anew: primary or secondary.", metavar="WHICH"),
    as_json: bool = AS_JSON,
) -> None:
    """Print the two keys of an endpoint; either opens it. With --renew another takes the place of one."""
    service = Webservice(session.workspace(), name)
    if service._record.spec.auth is Auth.TOKEN:
        if renew:
            raise InvalidEndpoint(
                f"Endpoint {name!r} asks for tokens, which are made at every call: there is no key to renew.",
                hint=f"roost endpoint update {name} --auth key",
            )
        token, refresh = service.get_token()
        told = {"token": token, "refresh_after": refresh.isoformat()}
    elif service._record.spec.auth is Auth.NONE:
        raise InvalidEndpoint(f"Endpoint {name!r} asks for no key.", hint=f"roost endpoint update {name} --auth key")
    else:
        if renew:
            service.regen_key(renew)
        primary, secondary = service.get_keys()
        told = {"primary": primary, "secondary": secondary}
    if as_json:
        rendering.as_json(told)
    else:
        for what, value in told.items():
            print(f"{what:<14} {value}")
