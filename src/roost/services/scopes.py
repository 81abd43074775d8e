"""How far a run's token reaches. People reach all of their control plane; a run's token reaches its run, those below it and its
workspace (`domain/permissions.py`, `Scope`).
"""

from roost.domain.errors import Forbidden
from roost.domain.people import Caller
from roost.domain.permissions import READS, Action
from roost.domain.runs import Run
from roost.services import lineage
from roost.services.context import Context


def require_run(context: Context, caller: Caller, run_id: str, action: Action) -> None:
    """Forbidden when the run is another than the token's, not below it, and not one above it that is only read."""
    if not caller.is_run or caller.run_id == run_id:
        return
    if action not in READS or run_id not in lineage.above(context, caller.run_id):
        caller.require_run(run_id, lineage.above(context, run_id))


def require_workspace(context: Context, caller: Caller, workspace: str) -> None:
    """Forbidden when the workspace is another than that of the token's run."""
    if caller.is_run:
        run_in(context, caller, workspace)


def run_in(context: Context, caller: Caller, workspace: str) -> Run:
    """The run whose token it is; Forbidden when it is in another workspace."""
    run = context.store.runs.get(caller.run_id)
    if run.workspace != workspace:
        raise Forbidden(f"The token of run {caller.run_id} does not reach workspace {workspace!r}.")
    return run
