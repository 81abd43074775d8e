"""`roost run …`: list, show, logs, metrics, cancel, download."""

import sys
from pathlib import Path

import typer

from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunStatus

app = typer.Typer(no_args_is_help=True, help="Look at runs, follow, cancel and download them.", rich_markup_mode=None)

_RUN = typer.Argument(help="A run's id, its beginning or last part, or @latest.", metavar="ID")
_AS_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command("list")
def listing(
    experiment: str | None = typer.Option(None, "--experiment", "-e", help="Only this experiment's."),
    status: RunStatus | None = typer.Option(None, help="Only those in this status."),
    limit: int = typer.Option(20, min=1, help="How many at most."),
    as_json: bool = _AS_JSON,
) -> None:
    """List runs, newest first."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.sdk import records  # noqa: PLC0415

    ws = session.workspace()
    found = records.listing(ws._connection.client, ws.name, experiment=experiment, status=status, limit=limit)
    if as_json:
        rendering.as_json(codec.encode(found))
    elif found:
        rows = [
            (run.id, run.status.value, _took(run), rendering.ago(run.created_at), run.display_name) for run in found
        ]
        rendering.table(("run", "status", "took", "submitted", "name"), rows)
    else:
        print(f"No runs in workspace {ws.name!r}" + (" like that." if experiment or status else " yet."))


@app.command()
def show(run_id: str = _RUN, as_json: bool = _AS_JSON) -> None:
    """Show where a run stands, what happened to it, its metrics and files."""
    from roost.cli import session, showing  # noqa: PLC0415 - loaded when called: main.py

    showing.show(session.find(session.workspace(), run_id), as_json)


@app.command()
def logs(
    run_id: str = _RUN,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on until the run has ended."),
    file: str = typer.Option("", help="Another of its logs, such as logs/train.log."),
) -> None:
    """Print a run's output."""
    from roost.cli import session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk import records, waiting  # noqa: PLC0415

    run = session.find(session.workspace(), run_id)
    tail = waiting.Tail(run._connection.watcher, run.id, file or waiting.STD_LOG)
    text = tail.read(wait=waiting.LONGEST_POLL if follow else 0.0)
    if not text and not follow:
        _, why = records.events(run._connection.client, run.id)
        print(f"It has written nothing{'' if tail.over else ' yet'}. {why}", file=sys.stderr)
    while text or (follow and not tail.over):
        sys.stdout.write(text)
        sys.stdout.flush()
        if tail.over:
            break
        text = tail.read(wait=waiting.LONGEST_POLL if follow else 0.0)


@app.command()
def metrics(
    run_id: str = _RUN,
    name: str | None = typer.Option(None, help="Only this metric, with all its values."),
    as_json: bool = _AS_JSON,
) -> None:
    """Show a run's metrics."""
    from roost.cli import session, showing  # noqa: PLC0415 - loaded when called: main.py

    showing.metrics(session.find(session.workspace(), run_id), name, as_json)


@app.command()
def cancel(run_id: str = _RUN) -> None:
    """End a run and all its processes."""
    from roost.cli import session  # noqa: PLC0415 - loaded when called: main.py

    run = session.find(session.workspace(), run_id)
    run.cancel()
    print(f"{run.id}: {run.get_status()}")


@app.command()
def download(
    run_id: str = _RUN,
    prefix: str | None = typer.Option(None, help="Only files of this folder, such as outputs, or this one file."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to; a folder of the run's id by default."),
) -> None:
    """Download a run's files."""
    from roost.cli import session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import names  # noqa: PLC0415
    from roost.domain.errors import NotFound  # noqa: PLC0415
    from roost.sdk import downloads  # noqa: PLC0415

    run = session.find(session.workspace(), run_id)
    folder = output if output is not None else Path(run.id)
    found = downloads.listing(run._connection, run.id, (prefix or "").strip("/"))
    if not found:
        raise NotFound(
            f"Run {run.id} has no files" + (f" in {prefix!r}." if prefix else "."), hint=f"roost run show {run.id}"
        )
    downloads.fetch_all(run._connection, run.id, found, [folder / names.path(file.path) for file in found])
    print(f"{len(found)} file{'s' if len(found) != 1 else ''} in {folder}")


def _took(run: RunRecord) -> str:
    from roost.cli import rendering  # noqa: PLC0415 - loaded when called: main.py

    if run.started_at is None:
        return ""
    end = run.ended_at if run.ended_at is not None else run.heard_at
    return rendering.duration(max(0.0, end - run.started_at)) if end is not None else ""
