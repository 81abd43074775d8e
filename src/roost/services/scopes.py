"""The reach of a run's token. People reach all of their control plane; a run's token reaches its run, the runs below it and its
workspace (`domain/permissions.py`, `Scope`).
"""

from roost.domain.errors import Forbidden
from roost.domain.people import Caller
from roost.domain.permissions import READS, Action
from roost.domain.runs import Run
from roost.services import lineage
from roost.services.context import Context


def require_run(context: Context, caller: Caller, run_id: str, action: Action) -> None:
    """Forbidden unless the run is the token's own, one below it, or one above it that is only read."""
    if not caller.is_run or caller.run_id == run_id:
        return
    if action not in READS or run_id not in lineage.above(context, caller.run_id):
        caller.require_run(run_id, lineage.above(context, run_id))


def require_workspace(context: Context, caller: Caller, workspace: str) -> None:
    """Forbidden unless the workspace is that of the token's run."""
    if caller.is_run:
        run_in(context, caller, workspace)


def run_in(context: Context, caller: Caller, workspace: str) -> Run:
    """The token's run; Forbidden when it is in another workspace."""
    run = context.store.runs.get(caller.run_id)
    if run.workspace != workspace:
        raise Forbidden(f"The token of run {caller.run_id} does not reach workspace {workspace!r}.")
    return run
