"""`roost run …`: looking at runs. Deeds are in `deeds.py`, how one is shown in `showing.py`, several in `comparing.py`."""

import sys
from typing import TYPE_CHECKING

import typer

from roost.cli import deeds, labels, listing
from roost.domain.files import STD_LOG
from roost.domain.runs import RunStatus

if TYPE_CHECKING:
    from roost.sdk.runs.waiting import Tail
    from roost.transport.client import Client

app = typer.Typer(
    no_args_is_help=True,
    help="List, follow, compare, tag, cancel, repeat, delete runs.",
    rich_markup_mode=None,
)

_AS_JSON = typer.Option(False, "--json", help="Print JSON.")


app.command("list")(listing.listing)


@app.command()
def show(run_id: str = deeds.RUN, as_json: bool = _AS_JSON) -> None:
    """Show where a run stands, what happened to it, its metrics and files."""
    from roost.cli import session, showing  # noqa: PLC0415 - loaded when called: main.py

    showing.show(session.find(session.workspace(), run_id), as_json)


@app.command()
def logs(
    run_id: str = deeds.RUN,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on until the run has ended."),
    file: str = typer.Option("", help="Another of its logs, such as logs/train.log."),
) -> None:
    """Print a run's output, or that of its environment's build when there is none. Ctrl-C stops the printing, not the run."""
    from roost.cli import asking, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import NotFound  # noqa: PLC0415
    from roost.sdk.calls import run_records  # noqa: PLC0415
    from roost.sdk.runs import waiting  # noqa: PLC0415

    run = session.find(session.workspace(), run_id)
    client = run._connection.watcher
    builds = not file and run_records.get(client, run.id).spec.environment is not None
    build = waiting.Tail(client, run.id, waiting.BUILD_LOG)
    about = f"The log of its environment's build, {waiting.BUILD_LOG}:"
    wrote = builds and follow and _print(build, follow, about)
    if follow:
        waiting.wait_for_room(client, run.id, sys.stderr)
    tail = waiting.Tail(client, run.id, file or STD_LOG)
    wrote = _print(tail, follow, f"Its own output, {STD_LOG}:" if wrote else "") or wrote
    if not wrote and builds and not follow:
        wrote = _print(build, follow, f"It has written nothing{'' if tail.over else ' yet'}. {about}")
    if not wrote and file and tail.over and file not in (there := run.get_file_names()):
        raise NotFound(f"Run {run.id} has no file {file!r}.", hint=asking.near(file, there))
    if not wrote:
        _silent(client, run.id, tail.over)


def _silent(client: "Client", run_id: str, over: bool) -> None:
    """A run without output: says so, and what it waits for or how it ended."""
    from roost.sdk.calls import run_records  # noqa: PLC0415 - loaded when called: main.py

    if run_records.get(client, run_id).status is RunStatus.RUNNING:
        print(f"The run is running and has written nothing yet. Follow it: roost run logs -f {run_id}", file=sys.stderr)
        return
    _, why = run_records.events(client, run_id)
    print(f"The run has written nothing{'' if over else ' yet'}. {why}", file=sys.stderr)


def _print(tail: "Tail", follow: bool, head: str = "") -> bool:
    """Prints a log as far as there is one, or until it is over, after a line on stderr; whether there was any."""
    from roost.sdk.runs import waiting  # noqa: PLC0415 - loaded when called: main.py

    wrote = False
    while not tail.over:
        text = tail.read(wait=waiting.LONGEST_POLL if follow else 0.0)
        if text and head and not wrote:
            print(head, file=sys.stderr, flush=True)
        sys.stdout.write(text)
        sys.stdout.flush()
        wrote = wrote or bool(text)
        if not text and not follow:
            break
    return wrote


@app.command()
def metrics(
    run_id: str = deeds.RUN,
    name: str | None = typer.Option(None, help="Only this metric: its curve and values, its table or document."),
    as_json: bool = _AS_JSON,
) -> None:
    """Show a run's metrics: points, last, least, most and course; confusion matrices, accuracy tables, predictions and
    residuals are drawn. With --json documents are whole."""
    from roost.cli import logged, session  # noqa: PLC0415 - loaded when called: main.py

    logged.metrics(session.find(session.workspace(), run_id), name, as_json)


@app.command()
def compare(
    run_ids: list[str] = deeds.RUNS,
    every: bool = typer.Option(False, "--all", "-a", help="What is the same in all of them too."),
    as_json: bool = _AS_JSON,
) -> None:
    """Set runs side by side: arguments, tags, metrics. What differs is marked with *; many runs are shown as rows."""
    from roost.cli import comparing, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import InvalidInput  # noqa: PLC0415

    if len(run_ids) < 2:
        raise InvalidInput("One run cannot be compared.", hint="roost run compare ID ID …")
    ws = session.workspace()
    comparing.compare([session.find(ws, each) for each in run_ids], every, as_json)


for _deed in (labels.tag, labels.name, labels.describe, deeds.cancel, deeds.download, deeds.repeat, deeds.delete):
    app.command()(_deed)
