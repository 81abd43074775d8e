"""Workspaces: made at first use, found by name."""

from collections.abc import Sequence

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.workspaces import Origin, Workspace
from roost.services import submissions
from roost.services.context import Context

MAX_FIELD = 255
NOWHERE = Origin()


def ensure(context: Context, caller: Caller, name: str, origin: Origin = NOWHERE) -> Workspace:
    """The workspace of that name, made if there is none; an existing one does not change."""
    caller.require(Action.WORKSPACE_CREATE)
    kept = {**vars(origin), "location": origin.location or "local", "sku": origin.sku or "Basic"}
    for field, value in kept.items():
        if isinstance(value, str) and len(value) > MAX_FIELD:
            raise InvalidInput(f"{field} has {len(value)} characters; at most {MAX_FIELD} are kept.")
    submissions.check_labels(origin.tags, {})
    workspace = Workspace(name=names.workspace(name), user=caller.user, created_at=context.clock(), **kept)
    return context.store.workspaces.ensure(workspace)


def get(context: Context, caller: Caller, name: str) -> Workspace:
    caller.require(Action.WORKSPACE_READ)
    return context.store.workspaces.get(names.workspace(name))


def listing(context: Context, caller: Caller) -> Sequence[Workspace]:
    caller.require(Action.WORKSPACE_READ)
    return context.store.workspaces.list()
