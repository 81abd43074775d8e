"""The runs that commands name: the arguments, the ids that Tab offers, and the run of what was typed."""

import contextlib

import typer

from roost.cli import session
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunKind
from roost.sdk.calls import run_records, searches
from roost.sdk.connection import discovery, embedded
from roost.sdk.core.workspaces import Workspace
from roost.sdk.runs.experiments import Experiment
from roost.sdk.runs.runs import Run
from roost_job.listing import some

LATEST = ("@latest", "-")
_LOOKED_THROUGH = 1000
_LEAST_TYPED = 4
_OFFERED = 50


def run_ids(incomplete: str) -> list[str]:
    """Ids of the newest runs that begin so, of a control plane that runs already."""
    with contextlib.suppress(Exception):
        if not session.is_elsewhere() and embedded.find(discovery.home()) is None:
            return []
        ws = session.workspace()
        found = searches.find(ws._connection.client, ws.name, searches.Search(include_children=True), page=_OFFERED)
        newest = [run.id for run, _ in zip(found, range(_OFFERED), strict=False)]
        return [each for each in ("@latest", *newest) if each.startswith(incomplete)]
    return []


_ABOUT = "A run's id, four characters or more of its beginning or last part, or @latest."
RUN = typer.Argument(help=_ABOUT, metavar="ID", autocompletion=run_ids)
RUNS = typer.Argument(help=f"{_ABOUT} Several may be given.", metavar="ID…", autocompletion=run_ids)
ANY_RUNS = typer.Argument(None, help=f"{_ABOUT} Several may be given.", metavar="ID…", autocompletion=run_ids)


def find_run(ws: Workspace, typed: str) -> Run:
    """The run of that id, or the newest that is no endpoint's (`@latest`, `-`); else the only one whose id, or the last part of
    it, begins so."""
    client = ws._connection.client
    if typed in LATEST:
        newest = run_records.listing(client, ws.name, limit=1)
        if not newest:
            raise NotFound(f"There is no run in workspace {ws.name!r} yet.", hint="roost submit SCRIPT starts one.")
        return run_of(ws, newest[0])
    try:
        return ws.get_run(typed)
    except NotFound as missing:
        if len(typed) < _LEAST_TYPED:  # one letter fits a run by chance, and some commands delete
            raise missing from None
        known = [
            run
            for kind in (None, RunKind.REPLICA)
            for run in run_records.listing(client, ws.name, kind=kind, include_children=True, limit=_LOOKED_THROUGH)
        ]
        fits = [run for run in known if run.id.startswith(typed) or run.id.rpartition("_")[2].startswith(typed)]
        if not fits:
            raise missing from None
        if len(fits) > 1:
            raise InvalidInput(
                f"{len(fits)} runs begin with {typed!r}.", hint=f"Type more of one: {some(run.id for run in fits)}."
            ) from None
        return run_of(ws, fits[0])


def run_of(ws: Workspace, record: RunRecord) -> Run:
    """The SDK's run of a record."""
    return Run._of(Experiment(ws, record.experiment, _create_in_cloud=False), record)
