"""`roost endpoint deploy`, `update` and `delete`."""

import sys
from pathlib import Path

import typer

from roost.cli import rendering, session
from roost.cli.commands.endpoints.settings import Asked, Change, kind_of, limits, share_of
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.environments import environment_file, find_environment
from roost.cli.inputs.models import find_model
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT, YES
from roost.domain import codec
from roost.domain.endpoints import EndpointState
from roost.domain.errors import InvalidEndpoint
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services import deploying, webservice_waiting
from roost.sdk.services.inference import InferenceConfig
from roost.sdk.services.webservices import Webservice

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
_DEPLOYED = "serves"


def deploy(
    name: str = ENDPOINT,
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
    as_json: bool = AS_JSON,
) -> None:
    """Serve a model at an address of this machine. Callers need a key, unless --auth says otherwise."""
    if replicas is None and least is None and most is None:
        replicas = 1
    config = Asked(
        **limits(replicas, least, most, cpu, memory, timeout, at_once),
        **kind_of(auth or "key"),
        share=share_of(record) or 0.0,
        port=port,
        tags={key: value or "" for key, value in parsing.tags(tag).items()},
        description=description,
    )
    if not script and len(models) != 1:
        raise InvalidEndpoint(
            f"{len(models) or 'No'} models are given and no --script; without one exactly one model can be deployed.",
            hint=f"roost endpoint deploy {name} --model NAME --script score.py",
        )
    if environment:
        environment_file(environment)
    ws = session.workspace()
    inference = _inference(ws, script, source, environment)
    found = [find_model(ws, each) for each in models]
    service = deploying.deploy(ws, name, found, inference, config, overwrite=overwrite)
    _follow(service, detach, as_json, _DEPLOYED)


def update(
    name: str = ENDPOINT,
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
    as_json: bool = AS_JSON,
) -> None:
    """Change an endpoint while it serves: what is new comes up beside what is there, and no request is lost."""
    change = Change(
        version=version,
        limits=limits(replicas, least, most, cpu, memory, timeout, at_once),
        auth=kind_of(auth) if auth else {},
        share=share_of(record),
        tags={key: value or "" for key, value in parsing.tags(tag).items()},
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
    found = [find_model(ws, each) for each in models]
    change.apply(service, deploying.change_of(ws, name, now, found or None, inference))
    _follow(service, detach, as_json, "was changed and serves")


def delete(name: str = ENDPOINT, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """End an endpoint, after a yes. Its models stay."""
    service = Webservice(session.workspace(), name)
    prompts.confirm(f"Endpoint {name} will answer no more; its address and keys are gone for good.", yes)
    service.delete()
    if as_json:
        rendering.as_json({"deleted": name})
    else:
        print(f"Endpoint {name} was deleted; its models stay.")


def _inference(ws: Workspace, script: str, source: Path | None, environment: str) -> InferenceConfig | None:
    if not script:
        if environment or source:
            raise InvalidEndpoint(
                "--environment and --source go with a script.", hint="Give --script score.py as well."
            )
        return None
    chosen = find_environment(ws, environment) if environment else None
    return InferenceConfig(script, source_directory=source, environment=chosen)


def _follow(service: Webservice, detach: bool, as_json: bool, deed: str) -> None:
    """Waits until it serves and says where; exit code 1 with the reason when it does not."""
    if not detach:
        telling = webservice_waiting.Told if sys.stderr.isatty() else webservice_waiting.ToldInLines
        sys.stderr.write(f"Endpoint {service.name} is on its way" if sys.stderr.isatty() else "")  # dots follow
        try:
            told = telling(service.workspace, service.name, sys.stderr)
            record = webservice_waiting.until_settled(service.workspace, service.name, told)
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
