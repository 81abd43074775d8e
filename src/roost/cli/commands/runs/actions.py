"""`roost run cancel`, `download`, `repeat`, `delete`: what is done to runs, with a question first where it cannot be undone."""

import sys
from pathlib import Path

import typer

from roost.cli import rendering, session
from roost.cli.commands.runs import streaming
from roost.cli.inputs import prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.cli.inputs.runs import ANY_RUNS, RUN, RUNS, find_run, run_of
from roost.domain import names
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.runs import TERMINAL, RunStatus
from roost.sdk.calls import downloads, searches
from roost.sdk.operations import upkeep
from roost.sdk.runs import repeats
from roost_job.listing import some


def cancel(
    run_ids: list[str] = ANY_RUNS,
    every: bool = typer.Option(False, "--all", help="Every run of the workspace that has not ended; endpoints go on."),
    yes: bool = YES,
    as_json: bool = AS_JSON,
) -> None:
    """End runs and all their processes. Outputs so far are kept."""
    if bool(run_ids) == every:
        raise InvalidInput("Which runs?", hint="roost run cancel ID …, or --all for every one that has not ended.")
    ws = session.workspace()
    if every:
        going = [status for status in RunStatus if status not in TERMINAL]
        found = searches.find(ws._connection.client, ws.name, searches.Search(statuses=going, include_children=True))
        runs = [run_of(ws, record) for record in found]
        if runs:
            prompts.confirm(f"{rendering.count(len(runs), 'run')} of workspace {ws.name!r} will be ended.", yes)
        elif not as_json:
            print("No run is going on.")
    else:
        runs = [find_run(ws, each) for each in run_ids]
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
    as_json: bool = AS_JSON,
) -> None:
    """Download a run's files."""
    run = find_run(session.workspace(), run_id)
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
    run = repeats.repeat(find_run(session.workspace(), run_id), fresh, offline)
    streaming.follow(run, detach, as_json)


def delete(run_ids: list[str] = RUNS, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Delete runs that have ended, with their metrics, logs, files and the runs below them. It cannot be undone."""
    ws = session.workspace()
    runs = {run.id: run for run in (find_run(ws, each) for each in run_ids)}
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
    prompts.confirm(f"{which}, with metrics, logs, files and runs below, will be deleted for good.{made}", yes)
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
