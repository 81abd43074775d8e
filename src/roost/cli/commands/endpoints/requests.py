"""`roost endpoint test` and `bench`: one request, and as many as it answers."""

import sys
import time

import typer

from roost.cli import rendering, session
from roost.cli.commands.endpoints import load_test
from roost.cli.commands.endpoints.settings import payload
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT
from roost.domain.errors import InvalidEndpoint
from roost.sdk.calls import scoring
from roost.sdk.services.webservices import Webservice

_DATA = typer.Option(..., "--data", help="What is sent: text, @FILE, or @- for stdin.", metavar="TEXT")
_CONTENT = typer.Option("application/json", "--content-type", help="What the data is.")


def test(name: str = ENDPOINT, data: str = _DATA, content_type: str = _CONTENT, as_json: bool = AS_JSON) -> None:
    """Send one request and print the answer. Exit code 1 for any status but 200."""
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


def bench(
    name: str = ENDPOINT,
    data: str = _DATA,
    content_type: str = _CONTENT,
    connections: int = typer.Option(32, "--connections", "-c", help="How many ask at once."),
    seconds: float = typer.Option(5.0, "--seconds", help="For how long."),
    as_json: bool = AS_JSON,
) -> None:
    """Ask as fast as it answers, and say how fast that was: requests a second, and the time of an answer."""
    body = payload(data)
    load_test.check(connections, seconds)
    service = Webservice(session.workspace(), name)
    if not service.scoring_uri or service._record.state.value == "Failed":
        raise InvalidEndpoint(
            f"Endpoint {name} does not serve: it is {service.state}.", hint=f"roost endpoint show {name}"
        )
    report = load_test.run(service._address(), service._credential(), body, content_type, connections, seconds)
    if as_json:
        rendering.as_json(report)
    else:
        load_test.print_report(report)
    if report["failed"] or not report["answered"]:
        raise typer.Exit(1)
