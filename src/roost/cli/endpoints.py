"""`roost endpoint …`: deploy, list, show, logs, test, update, delete, bench, keys, records."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roost.domain.errors import InvalidEndpoint

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.services.inference import InferenceConfig
    from roost.sdk.services.webservices import Webservice

app = typer.Typer(
    no_args_is_help=True, help="Serve models: deploy, try, change, watch and delete endpoints.", rich_markup_mode=None
)

_NAME = typer.Argument(help="An endpoint's name.", metavar="NAME")
_MODELS = typer.Option([], "--model", "-m", help="A registered model; repeated.", metavar="NAME[:VERSION]")
_SCRIPT = typer.Option("", "--script", "-s", help="The entry script; none for a model whose framework is known.")
_SOURCE = typer.Option(None, "--source", help="The folder to send; that of the script by default.")
_ENVIRONMENT = typer.Option(
    "", "--environment", help="A registered or curated environment, or a requirements or conda file."
)
_REPLICAS = typer.Option(None, "--replicas", help="How many processes serve it.")
_LEAST = typer.Option(None, "--min", help="With --max: replicas that are always there.")
_MOST = typer.Option(None, "--max", help="Replicas at most; they come and go by load.")
_AUTH = typer.Option(None, "--auth", help="What callers show: key, token or none.", metavar="KIND")
_CPU = typer.Option(None, "--cpu", help="Cores of a replica.")
_MEMORY = typer.Option(None, "--memory", help="Gigabytes that a replica may have.")
_TIMEOUT = typer.Option(None, "--timeout", help="Seconds that an answer may take.")
_AT_ONCE = typer.Option(None, "--concurrency", help="Requests that a replica works on at once.")
_RECORD = typer.Option(None, "--record", help="Share of the requests that is recorded, 0 to 1.")
_TAGS = typer.Option([], "--tag", "-t", help="A tag, KEY=VALUE; repeated.", metavar="KEY=VALUE")
_DESCRIPTION = typer.Option(None, "--description", help="Words for people.")
_DETACH = typer.Option(False, "--detach", "-d", help="Do not wait until it serves.")
_DATA = typer.Option(..., "--data", help="What is sent: text, @FILE, or @- for stdin.", metavar="TEXT")
_CONTENT = typer.Option("application/json", "--content-type", help="What the data is.")
_YES = typer.Option(False, "--yes", "-y", help="Do not ask.")
_AS_JSON = typer.Option(False, "--json", help="Print JSON.")
_DEPLOYED = "serves"


@app.command()
def deploy(
    name: str = _NAME,
    models: list[str] = _MODELS,
    script: str = _SCRIPT,
    source: Path | None = _SOURCE,
    environment: str = _ENVIRONMENT,
    replicas: int | None = _REPLICAS,
    least: int | None = _LEAST,
    most: int | None = _MOST,
    auth: str | None = _AUTH,
    cpu: float | None = _CPU,
    memory: float | None = _MEMORY,
    timeout: float | None = _TIMEOUT,
    at_once: int | None = _AT_ONCE,
    record: float | None = _RECORD,
    port: int = typer.Option(0, "--port", help="Where it listens; one that is free by default."),
    tag: list[str] = _TAGS,
    description: str | None = _DESCRIPTION,
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace one of that name; it serves on meanwhile."),
    detach: bool = _DETACH,
    as_json: bool = _AS_JSON,
) -> None:
    """Serve a model at an address of this machine. Callers need a key, unless --auth says otherwise."""
    from roost.cli import asking, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.cli import models as registry  # noqa: PLC0415
    from roost.cli.endpoint_settings import Asked, kind_of, limits, share_of  # noqa: PLC0415
    from roost.sdk.services import deploying  # noqa: PLC0415

    if replicas is None and least is None and most is None:
        replicas = 1
    config = Asked(
        **limits(replicas, least, most, cpu, memory, timeout, at_once),
        **kind_of(auth or "key"),
        share=share_of(record) or 0.0,
        port=port,
        tags={key: value or "" for key, value in asking.tags(tag).items()},
        description=description,
    )
    if not script and len(models) != 1:
        raise InvalidEndpoint(
            f"{len(models) or 'No'} models are given and no --script; without one exactly one model can be deployed.",
            hint=f"roost endpoint deploy {name} --model NAME --script score.py",
        )
    if environment:
        asking.environment_file(environment)
    ws = session.workspace()
    inference = _inference(ws, script, source, environment)
    found = [registry.find(ws, each) for each in models]
    service = deploying.deploy(ws, name, found, inference, config, overwrite=overwrite)
    _follow(service, detach, as_json, _DEPLOYED)


@app.command("list")
def listing(as_json: bool = _AS_JSON) -> None:
    """List the endpoints of the workspace."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    ws = session.workspace()
    found = Webservice.list(ws)
    if as_json:
        rendering.as_json([{**codec.encode(each._record), "scoring_uri": each.scoring_uri} for each in found])
        return
    rows = [
        (
            each.name,
            each._record.state.value,
            ", ".join(_served(each)),
            rendering.ago(each._record.updated_at),
            each.scoring_uri or "",
        )
        for each in found
    ]
    if rows:
        rendering.table(
            ("endpoint", "state", "models", "changed", "address"), rows, drop=("models", "changed"), cut=("models",)
        )
    else:
        words = "Add one with: roost endpoint deploy NAME --model MODEL"
        print(f"No endpoints in workspace {ws.name!r} yet. {words}", file=sys.stderr)


@app.command()
def show(name: str = _NAME, as_json: bool = _AS_JSON) -> None:
    """Show an endpoint: its versions, the models they serve, and the run, code, data and environment behind each."""
    from roost.cli import endpoint_showing, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    endpoint_showing.show(Webservice(session.workspace(), name), as_json)


@app.command()
def logs(
    name: str = _NAME,
    lines: int = typer.Option(500, "--lines", "-n", help="How many of the last lines."),
    replica: str = typer.Option("", "--replica", help="The run of one replica.", metavar="ID"),
    follow: bool = typer.Option(False, "--follow", "-f", help="Print what comes, until the replica ends."),
    as_json: bool = _AS_JSON,
) -> None:
    """Print what a replica has printed: the one with which the last change failed, else each that serves, else the newest."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.calls import endpoints  # noqa: PLC0415
    from roost.sdk.services.webservices import found_or_told  # noqa: PLC0415

    ws = session.workspace()
    if follow and (run_id := found_or_told(ws, name, lambda: endpoints.telling(ws, name, replica))):
        others = [each.run_id for each in endpoints.replicas(ws, name) if each.ready and each.run_id != run_id]
        if others and not replica:
            print(
                f"Follows {run_id}. Of those that serve beside it: --replica {others[-1]}", file=sys.stderr, flush=True
            )
        _follow_log(ws, run_id, lines)
        return
    said = found_or_told(ws, name, lambda: endpoints.logs(ws, name, lines, replica))
    text = said["text"]
    if as_json:
        rendering.as_json(said)
    else:
        if said["note"]:
            print(said["note"], file=sys.stderr, flush=True)
        sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")


@app.command()
def test(name: str = _NAME, data: str = _DATA, content_type: str = _CONTENT, as_json: bool = _AS_JSON) -> None:
    """Send one request and print the answer. Exit code 1 for any status but 200."""
    import time  # noqa: PLC0415 - loaded when called: main.py

    from roost.cli import rendering, session  # noqa: PLC0415
    from roost.cli.endpoint_settings import payload  # noqa: PLC0415
    from roost.sdk.calls import scoring  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    body = payload(data)
    service = Webservice(session.workspace(), name)
    held = service._credential()
    begun = time.perf_counter()
    try:
        patience = scoring.patience(service._record.spec)
        with scoring.Caller(service._address(), lambda: held, timeout=patience) as caller:
            answer = caller.post(body, content_type)
    except OSError as error:
        raise InvalidEndpoint(
            f"Nobody answers at {service.scoring_uri}: {error}. It is {service.state}.",
            hint=service.error or f"roost endpoint logs {name}",
        ) from None
    taken = time.perf_counter() - begun
    if as_json:
        told = {"status": answer.status, "seconds": taken, "headers": answer.headers}
        rendering.as_json({**told, "answer": answer.text() if isinstance(answer.value(), bytes) else answer.value()})
    else:
        print(answer.text())
        words = f"{answer.status} in {taken * 1000:.1f} ms"
        traced = [answer.headers[key] for key in ("x-roost-model", "x-roost-replica") if answer.headers.get(key)]
        print(rendering.styled(", ".join([words, *traced]), "dim"), file=sys.stderr)
    if answer.status != 200:
        raise typer.Exit(1)


@app.command()
def update(
    name: str = _NAME,
    models: list[str] = _MODELS,
    script: str = _SCRIPT,
    source: Path | None = _SOURCE,
    environment: str = _ENVIRONMENT,
    replicas: int | None = _REPLICAS,
    least: int | None = _LEAST,
    most: int | None = _MOST,
    auth: str | None = _AUTH,
    cpu: float | None = _CPU,
    memory: float | None = _MEMORY,
    timeout: float | None = _TIMEOUT,
    at_once: int | None = _AT_ONCE,
    record: float | None = _RECORD,
    version: str = typer.Option("", "--version", help="Which version; the default one otherwise."),
    tag: list[str] = _TAGS,
    description: str | None = _DESCRIPTION,
    detach: bool = _DETACH,
    as_json: bool = _AS_JSON,
) -> None:
    """Change an endpoint while it serves: what is new comes up beside what is there, and no request is lost."""
    from roost.cli import asking, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.cli import models as registry  # noqa: PLC0415
    from roost.cli.endpoint_settings import Change, kind_of, limits, share_of  # noqa: PLC0415
    from roost.sdk.services import deploying  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    change = Change(
        version=version,
        limits=limits(replicas, least, most, cpu, memory, timeout, at_once),
        auth=kind_of(auth) if auth else {},
        share=share_of(record),
        tags={key: value or "" for key, value in asking.tags(tag).items()},
        description=description,
    )
    if (environment or source) and not script:
        raise InvalidEndpoint("--environment and --source go with a script.", hint="Give --script as well.")
    if not change and not models and not script:
        raise InvalidEndpoint("There is nothing to change.", hint="Give --model, --script, --replicas, …")
    ws = session.workspace()
    service = Webservice(ws, name)
    inference = _inference(ws, script, source, environment)
    now = change.chosen(service._record.spec)
    found = [registry.find(ws, each) for each in models]
    change.apply(service, deploying.change_of(ws, name, now, found or None, inference))
    _follow(service, detach, as_json, "was changed and serves")


@app.command()
def delete(name: str = _NAME, yes: bool = _YES, as_json: bool = _AS_JSON) -> None:
    """End an endpoint, after a yes. Its models stay."""
    from roost.cli import asking, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    service = Webservice(session.workspace(), name)
    asking.confirm(f"Endpoint {name} will answer no more; its address and keys are gone for good.", yes)
    service.delete()
    if as_json:
        rendering.as_json({"deleted": name})
    else:
        print(f"Endpoint {name} was deleted; its models stay.")


@app.command()
def bench(
    name: str = _NAME,
    data: str = _DATA,
    content_type: str = _CONTENT,
    connections: int = typer.Option(32, "--connections", "-c", help="How many ask at once."),
    seconds: float = typer.Option(5.0, "--seconds", help="For how long."),
    as_json: bool = _AS_JSON,
) -> None:
    """Ask as fast as it answers, and say how fast that was: requests a second, and the time of an answer."""
    from roost.cli import benching, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.cli.endpoint_settings import payload  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    body = payload(data)
    benching.check(connections, seconds)
    service = Webservice(session.workspace(), name)
    if not service.scoring_uri or service._record.state.value == "Failed":
        raise InvalidEndpoint(
            f"Endpoint {name} does not serve: it is {service.state}.", hint=f"roost endpoint show {name}"
        )
    said = benching.run(service._address(), service._credential(), body, content_type, connections, seconds)
    if as_json:
        rendering.as_json(said)
    else:
        benching.tell(said)
    if said["failed"] or not said["answered"]:
        raise typer.Exit(1)


@app.command()
def keys(
    name: str = _NAME,
    renew: str = typer.Option("", "--renew", help="Make this one anew: primary or secondary.", metavar="WHICH"),
    as_json: bool = _AS_JSON,
) -> None:
    """Print the two keys of an endpoint; either opens it. With --renew another takes the place of one."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.endpoints import Auth  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

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


@app.command()
def records(
    name: str = _NAME,
    limit: int = typer.Option(20, "--limit", "-n", help="How many of the newest."),
    as_json: bool = _AS_JSON,
) -> None:
    """Print recorded requests and answers, the newest first. What is recorded: roost endpoint update NAME --record 0.1"""
    from roost.cli import endpoint_showing, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.calls import endpoints  # noqa: PLC0415
    from roost.sdk.services.webservices import Webservice  # noqa: PLC0415

    service = Webservice(session.workspace(), name)
    found = endpoints.records(service.workspace, name, limit)
    if as_json:
        rendering.as_json(found)
    elif found:
        endpoint_showing.records(found)
    elif share := service._record.spec.recorded:
        print(f"Nothing is recorded yet: {share * 100:g} % of the requests to come will be.", file=sys.stderr)
    else:
        print(f"Nothing is recorded. Begin with: roost endpoint update {name} --record 0.1", file=sys.stderr)


def _follow_log(ws: "Workspace", run_id: str, lines: int) -> None:
    from roost.sdk.runs import waiting  # noqa: PLC0415 - loaded when called: main.py

    tail = waiting.Tail(ws._connection.watcher, run_id)
    there = ""
    while piece := tail.read(wait=0.0):
        there += piece
    sys.stdout.write("".join(there.splitlines(keepends=True)[-lines:]))
    while not tail.over:
        sys.stdout.flush()
        sys.stdout.write(tail.read())
    print(f"Replica {run_id} has ended.", file=sys.stderr)


def _inference(ws: "Workspace", script: str, source: Path | None, environment: str) -> "InferenceConfig | None":
    from roost.cli import environments  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.services.inference import InferenceConfig  # noqa: PLC0415

    if not script:
        if environment or source:
            raise InvalidEndpoint(
                "--environment and --source go with a script.", hint="Give --script score.py as well."
            )
        return None
    chosen = environments.chosen(ws, environment) if environment else None
    return InferenceConfig(script, source_directory=source, environment=chosen)


def _follow(service: "Webservice", detach: bool, as_json: bool, deed: str) -> None:
    """Waits until it serves and says where; exit code 1 with the reason when it does not."""
    from roost.cli import rendering  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.domain.endpoints import EndpointState  # noqa: PLC0415
    from roost.sdk.services import webservice_waiting as waiting  # noqa: PLC0415

    if not detach:
        telling = waiting.Told if sys.stderr.isatty() else waiting.ToldInLines
        sys.stderr.write(f"Endpoint {service.name} is on its way" if sys.stderr.isatty() else "")  # dots follow
        try:
            told = telling(service.workspace, service.name, sys.stderr)
            record = waiting.until_settled(service.workspace, service.name, told)
        except KeyboardInterrupt:
            look = f"Look at it: roost endpoint show {service.name}"
            end = f"End it: roost endpoint delete {service.name}"
            goes_on = f"The change of endpoint {service.name} goes on. {look}"
            if deed == _DEPLOYED:
                goes_on = f"Endpoint {service.name} goes on coming up. {look}   {end}"
            print(f"\n{goes_on}", file=sys.stderr)
            raise
        sys.stderr.write("\n" if sys.stderr.isatty() else "")
        if record.error or record.state is not EndpointState.HEALTHY:
            failed = f"Endpoint {service.name} does not serve. " if record.state is not EndpointState.HEALTHY else ""
            raise InvalidEndpoint(f"{failed}{record.error}", hint=f"roost endpoint logs {service.name}")
        service.update_deployment_state()
    if as_json:
        rendering.as_json({**codec.encode(service._record), "scoring_uri": service.scoring_uri})
        return
    if detach:
        print(f"Endpoint {service.name} is on its way. Look at it: roost endpoint show {service.name}")
        return
    print(f"Endpoint {service.name} {deed} at {service.scoring_uri}")
    print(f"Try it: roost endpoint test {service.name} --data '{{\"data\": …}}'")


def _served(service: "Webservice") -> Sequence[str]:
    found: dict[str, Any] = {each: None for version in service._record.spec.versions for each in version.models}
    return list(found)
