"""`roost run cancel`, `download`, `repeat`, `delete`: what is done to runs, with a question first where it cannot be undone."""

import sys
from pathlib import Path

import typer

from roost.cli import completing
from roost.domain.runs import TERMINAL, RunStatus
from roost_job.listing import some

_ABOUT = "A run's id, four characters or more of its beginning or last part, or @latest."
RUN = typer.Argument(help=_ABOUT, metavar="ID", autocompletion=completing.run_ids)
RUNS = typer.Argument(help=f"{_ABOUT} Several may be given.", metavar="ID…", autocompletion=completing.run_ids)
_SOME = typer.Argument(None, help=f"{_ABOUT} Several may be given.", metavar="ID…", autocompletion=completing.run_ids)
_YES = typer.Option(False, "--yes", "-y", help="Do not ask.")
_AS_JSON = typer.Option(False, "--json", help="Print JSON.")


def cancel(
    run_ids: list[str] = _SOME,
    every: bool = typer.Option(False, "--all", help="Every run of the workspace that has not ended; endpoints go on."),
    yes: bool = _YES,
    as_json: bool = _AS_JSON,
) -> None:
    """End runs and all their processes. Outputs so far are kept."""
    from roost.cli import asking, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import InvalidInput  # noqa: PLC0415
    from roost.sdk.calls import searches  # noqa: PLC0415

    if bool(run_ids) == every:
        raise InvalidInput("Which runs?", hint="roost run cancel ID …, or --all for every one that has not ended.")
    ws = session.workspace()
    if every:
        going = [status for status in RunStatus if status not in TERMINAL]
        found = searches.find(ws._connection.client, ws.name, searches.Search(statuses=going, include_children=True))
        runs = [session.run_of(ws, record) for record in found]
        if runs:
            asking.confirm(f"{rendering.count(len(runs), 'run')} of workspace {ws.name!r} will be ended.", yes)
        elif not as_json:
            print("No run is going on.")
    else:
        runs = [session.find(ws, each) for each in run_ids]
    told = []
    for run in runs:
        run.cancel()
        told.append({"id": run.id, "status": run.get_status()})
        if not as_json:
            print(f"{run.id}: {told[-1]['status']}")
    if as_json:
        rendering.as_json(told)


def download(
    run_id: str = RUN,
    prefix: str | None = typer.Option(None, help="Only files of this folder, such as outputs, or this one file."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to; a folder of the run's id by default."),
    as_json: bool = _AS_JSON,
) -> None:
    """Download a run's files."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import names  # noqa: PLC0415
    from roost.domain.errors import NotFound  # noqa: PLC0415
    from roost.sdk.calls import downloads  # noqa: PLC0415

    run = session.find(session.workspace(), run_id)
    folder = output if output is not None else Path(run.id)
    found = downloads.listing(run._connection, run.id, (prefix or "").strip("/"))
    if not found:
        raise NotFound(
            f"Run {run.id} has no files" + (f" in {prefix!r}." if prefix else "."), hint=f"roost run show {run.id}"
        )
    total = sum(file.size for file in found)
    at_once = len(found) if not sys.stderr.isatty() else 8
    done = 0
    with rendering.progress("downloading", in_bytes=True) as bar:
        for start in range(0, len(found), at_once):
            some = found[start : start + at_once]
            bar(done, total)
            downloads.fetch_all(run._connection, run.id, some, [folder / names.path(file.path) for file in some])
            done += sum(file.size for file in some)
    if as_json:
        rendering.as_json([{"path": str(folder / file.path), "size": file.size} for file in found])
    else:
        print(f"{rendering.count(len(found), 'file')}, {rendering.size(total)}, in {folder}")


def repeat(
    run_id: str = RUN,
    fresh: bool = typer.Option(
        False, "--fresh", help="Resolve its environment anew, instead of installing what was installed then."
    ),
    offline: bool = typer.Option(
        False, "--offline", help="Install what `roost env archive` has kept of its environment, with no network."
    ),
    detach: bool = typer.Option(False, "--detach", "-d", help="Print the new run's id and return."),
    as_json: bool = typer.Option(False, "--json", help="Print the run as JSON; its log goes to stderr."),
) -> None:
    """Submit a run once more: the same files, arguments, target and locked packages, whatever the folder looks like now."""
    from roost.cli import session, submit  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.runs import repeats  # noqa: PLC0415

    run = repeats.repeat(session.find(session.workspace(), run_id), fresh, offline)
    submit.follow(run, detach, as_json)


def delete(run_ids: list[str] = RUNS, yes: bool = _YES, as_json: bool = _AS_JSON) -> None:
    """Delete runs that have ended, with their metrics, logs, files and the runs below them. It cannot be undone."""
    from roost.cli import asking, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import Conflict  # noqa: PLC0415
    from roost.sdk.operations import upkeep  # noqa: PLC0415

    ws = session.workspace()
    runs = {run.id: run for run in (session.find(ws, each) for each in run_ids)}
    going = [run.id for run in runs.values() if not RunStatus(run.get_status()).is_terminal]
    if going:
        raise Conflict(
            f"Only runs that have ended can be deleted; {', '.join(going)} {'goes' if len(going) == 1 else 'go'} on.",
            hint=f"roost run cancel {' '.join(going)}",
        )
    which = f"Run {next(iter(runs))}" if len(runs) == 1 else f"{len(runs)} runs"
    behind = upkeep.runs_behind_models(ws._connection, ws.name)
    family = {each for run_id in (runs if behind else ()) for each in upkeep.family(ws._connection, run_id)}
    models = [model for run_id in family for model in behind.get(run_id, ())]
    made = (
        f" Registered models come from it and stay, but not how they were made: {some(sorted(models))}."
        if models
        else ""
    )
    asking.confirm(f"{which}, with metrics, logs, files and runs below, will be deleted for good.{made}", yes)
    gone: list[str] = []
    with rendering.progress("deleting") as bar:
        for number, run_id in enumerate(runs):
            bar(number, len(runs))
            gone += upkeep.delete_run(ws._connection, run_id)
    if as_json:
        rendering.as_json({"deleted": gone})
    else:
        print(
            f"Deleted {rendering.count(len(gone), 'run')}. What they alone used is freed an hour after its last use, the grace\n"
            "for uploads that are under way: by the control plane itself within two hours, or with: roost gc"
        )
