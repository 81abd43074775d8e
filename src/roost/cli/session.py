"""What every command about runs needs: the workspace of this folder, and a run by what the person typed of its id."""

from typing import TYPE_CHECKING

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunKind
from roost.domain.workspaces import DEFAULT_WORKSPACE
from roost_job.listing import some

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.runs.runs import Run

LATEST = ("@latest", "-")
_SALVAGE_SECONDS = 30.0
_LOOKED_THROUGH = 1000
_LEAST_TYPED = 4


chosen: str | None = None
"""The workspace of `roost --workspace NAME …`."""


def workspace() -> "Workspace":
    """The workspace that was chosen, else the one that the configuration file of this folder names, else the default one."""
    from roost.sdk.core import configs  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.core.workspaces import Workspace  # noqa: PLC0415

    in_folder = configs.find(None, None) if chosen is None else None
    found = Workspace.from_config() if in_folder else Workspace.get(chosen or DEFAULT_WORKSPACE)
    salvaging = found._connection.salvaging
    if salvaging is not None:
        salvaging.join(_SALVAGE_SECONDS)  # so that what is shown has what a killed process left
    return found


def command(ws: "Workspace") -> str:
    """How commands in this folder are typed for a workspace: `roost`, with the workspace where it was chosen."""
    return f"roost --workspace {ws.name}" if chosen is not None else "roost"


def is_elsewhere() -> bool:
    """Whether the control plane is the one of ROOST_URL, not this machine's own."""
    from roost.sdk.connection.connections import named_url  # noqa: PLC0415 - loaded when called: main.py

    return bool(named_url())


def find(ws: "Workspace", typed: str) -> "Run":
    """The run of that id, or the newest that is no endpoint's (`@latest`, `-`); else the only one whose id, or the last part of
    it, begins so."""
    from roost.sdk.calls import run_records  # noqa: PLC0415 - loaded when called: main.py

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


def run_of(ws: "Workspace", record: RunRecord) -> "Run":
    """The SDK's run of a record."""
    from roost.sdk.runs.experiments import Experiment  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk.runs.runs import Run  # noqa: PLC0415 - loaded when called: main.py

    return Run._of(Experiment(ws, record.experiment, _create_in_cloud=False), record)
