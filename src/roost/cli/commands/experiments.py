"""`roost experiment …`: which experiments there are, and putting them away. Their runs are `roost run list -e NAME`."""

import sys

import typer

from roost.cli import rendering, session
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain import codec
from roost.domain.errors import Conflict, NotFound
from roost.sdk.calls import run_records
from roost.sdk.runs.experiments import Experiment

_NAME = typer.Argument(help="An experiment's name.", metavar="NAME")
_NEWEST = 1000
"""Runs that are looked through for the newest of each experiment, in one request."""


def listing(
    archived: bool = typer.Option(False, "--archived", help="Those that were archived too."),
    as_json: bool = AS_JSON,
) -> None:
    """List experiments by name, each with its newest run."""
    ws = session.workspace()
    found = [each._now() for each in Experiment.list(ws, view_type="All" if archived else "ActiveOnly")]
    if as_json:
        rendering.as_json(codec.encode(found))
        return
    if not found:
        print(f"No experiments in workspace {ws.name!r} yet. roost submit SCRIPT starts one.", file=sys.stderr)
        return
    newest = {
        run.experiment: run for run in reversed(run_records.listing(ws._connection.client, ws.name, limit=_NEWEST))
    }
    rows = []
    for each in found:
        run = newest.get(each.name)
        rows.append(
            (
                each.name,
                f"#{run.number}" if run else "",
                run.status.value if run else "",
                rendering.ago(run.created_at) if run else "",
                "archived" if each.archived_at is not None else "",
                rendering.labels(each.tags),
            )
        )
    rendering.compact(
        ("experiment", "last run", "status", "submitted", "", "tags"), rows, drop=("tags",), cut=("experiment", "tags")
    )


def show(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Show an experiment: its tags and its newest runs."""
    experiment = _find(name)
    record = experiment._now()
    ws = experiment.workspace
    runs = run_records.listing(ws._connection.client, ws.name, experiment=name, limit=5)
    if as_json:
        rendering.as_json({"experiment": codec.encode(record), "runs": codec.encode(runs)})
        return
    print(f"Experiment {name}, workspace {ws.name}")
    print(f"  created     {rendering.ago(record.created_at)}, by {record.user}")
    if record.archived_at is not None:
        print(f"  archived    {rendering.ago(record.archived_at)}; the next run of it reactivates it")
    for key, value in sorted(record.tags.items()):
        print(f"  tag         {rendering.clean(key)}" + (f" = {rendering.clean(value)}" if value is not None else ""))
    print("Newest runs" if runs else "It has no runs.")
    for run in runs:
        words = f"  {run.id}  {rendering.status(run.status.value)}, {rendering.ago(run.created_at)}"
        print(f"{words}  {rendering.clean(run.display_name)}".rstrip())
    if runs:
        print(f"All of them: {session.command(ws)} run list --experiment {name}")


def archive(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Archive an experiment: it is listed no more, and its runs stay. The next run of it reactivates it."""
    experiment = _find(name)
    experiment.archive()
    _told(experiment, as_json, f"was archived; its runs stay. Back with: roost experiment reactivate {name}")


def reactivate(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """List an archived experiment again."""
    experiment = _find(name)
    experiment.reactivate()
    _told(experiment, as_json, "is listed again.")


def delete(name: str = _NAME, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Delete an experiment that has no runs, after a yes."""
    experiment = _find(name)
    ws = experiment.workspace
    if run_records.listing(ws._connection.client, ws.name, experiment=name, include_children=True, limit=1):
        raise Conflict(
            f"Experiment {name!r} has runs and cannot be deleted.",
            hint=f"Archive it: roost experiment archive {name}. Or delete its runs first: roost gc --experiment {name}",
        )
    prompts.confirm(f"Experiment {name} of workspace {ws.name!r} will be deleted for good.", yes)
    experiment.delete(ws, name)
    if as_json:
        rendering.as_json({"deleted": name})
    else:
        print(f"Experiment {name} was deleted.")


def _find(name: str) -> Experiment:
    ws = session.workspace()
    found = Experiment.list(ws, name, view_type="All")
    if not found:
        there = [each.name for each in Experiment.list(ws, view_type="All")]
        raise NotFound(
            f"There is no experiment {name!r} in workspace {ws.name!r}.",
            hint=parsing.near(name, there) or "roost submit --experiment NAME SCRIPT starts one.",
        )
    return found[0]


def _told(experiment: Experiment, as_json: bool, deed: str) -> None:
    if as_json:
        rendering.as_json(codec.encode(experiment._now()))
    else:
        print(f"Experiment {experiment.name} {deed}")
