"""Authentication objects of the Azure ML SDK v1: accepted where scripts pass them, and not needed. They all return Roost's
own token (ROOST_TOKEN, or that of the embedded control plane); Azure is never contacted.
"""

# ruff: noqa: ARG002
# Signatures are those of the Azure ML SDK v1: their parameters are accepted without effect.

import time
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from roost.domain.errors import InvalidInput
from roost.sdk.connection.connections import connect

_GOOD_FOR = 24 * 3600


class Audience(Enum):
    """The audience of a token of Azure."""

    ARM = "ARM"
    AML = "AML"
    arm = ARM
    aml = AML


class AccessToken(NamedTuple):
    token: str
    expires_on: int


class AbstractAuthentication:
    """Roost's own token, behind the methods that scripts call."""

    def get_authentication_header(self) -> dict[str, str]:
        """The header for the control plane's HTTP API."""
        return {"Authorization": f"Bearer {connect().token}"}

    def get_token(self, *scopes: object, **kwargs: object) -> AccessToken:
        """Roost's token. It does not expire; the expiry of one day is for callers that renew tokens."""
        return AccessToken(connect().token, int(time.time()) + _GOOD_FOR)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class InteractiveLoginAuthentication(AbstractAuthentication):
    """Opens no browser: there is no login."""

    def __init__(self, force: bool = False, tenant_id: str | None = None, cloud: str | None = None) -> None:
        pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    """The password is neither stored nor sent."""

    def __init__(
        self,
        tenant_id: str,
        service_principal_id: str,
        service_principal_password: str,
        cloud: str = "AzureCloud",
        _enable_caching: bool = False,
    ) -> None:
        pass


class MsiAuthentication(AbstractAuthentication):
    """Managed identities belong to Azure; here all processes of a user have the same token."""

    def __init__(self, identity_config: object = None, cloud: str = "AzureCloud") -> None:
        pass


class AzureCliAuthentication(AbstractAuthentication):
    """Azure's command line is not used."""

    def __init__(self, cloud: str | None = None) -> None:
        pass


class TokenAuthentication(AbstractAuthentication):
    """A token from the caller's own function."""

    def __init__(self, get_token_for_audience: Callable[[Audience], str], cloud: str = "AzureCloud") -> None:
        if not callable(get_token_for_audience):
            raise InvalidInput(
                f"get_token_for_audience must be a function, got {type(get_token_for_audience).__name__}.",
                hint="TokenAuthentication(get_token_for_audience=lambda audience: token)",
            )
        self._get_token_for_audience = get_token_for_audience

    def get_token(self, audience: Audience = Audience.ARM) -> str:  # type: ignore[override]  # the SDK's own
        """The function's result for this audience; Roost itself does not use it."""
        return self._get_token_for_audience(audience)
