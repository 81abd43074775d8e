"""Secrets of a workspace, sealed before they reach the store. A run may read those of its own workspace; a browser none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.secrets import Secret, checked_name, checked_value
from roost.services import vault
from roost.services.context import Context

MAX_AT_ONCE = 1000
KEY_FILE = "vault.key"
"""Its file in the home folder."""


def put(context: Context, caller: Caller, workspace: str, values: Mapping[str, str]) -> int:
    """Sets these secrets, all or none."""
    caller.require(Action.SECRET_WRITE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    for name, value in values.items():
        checked_value(checked_name(name), value)
    if len(values) > MAX_AT_ONCE:
        raise InvalidInput(f"{len(values)} secrets at once are too many.", hint=f"Set at most {MAX_AT_ONCE}.")
    first = nothing_sealed(context)
    sealed = {
        name: vault.seal(key_file(context), place, name, value, may_make_key=first) for name, value in values.items()
    }
    context.store.secrets.put(place, sealed, user=caller.user, at=context.clock())
    return len(sealed)


def listing(context: Context, caller: Caller, workspace: str) -> Sequence[Secret]:
    """By name, without values."""
    caller.require(Action.SECRET_LIST)
    return _listing(context, workspace)


def _listing(context: Context, workspace: str) -> Sequence[Secret]:
    return context.store.secrets.list(context.store.workspaces.get(names.workspace(workspace)).name)


def read(context: Context, caller: Caller, workspace: str, wanted: Sequence[str]) -> dict[str, str | None]:
    """Values by name; None for a secret that does not exist."""
    caller.require(Action.SECRET_READ)
    return _read(context, workspace, wanted)


def _read(context: Context, workspace: str, wanted: Sequence[str]) -> dict[str, str | None]:
    place = context.store.workspaces.get(names.workspace(workspace)).name
    for name in wanted:
        checked_name(name)
    sealed = context.store.secrets.get(place, wanted)
    return {
        name: vault.unseal(key_file(context), place, name, sealed[name]) if name in sealed else None for name in wanted
    }


def listing_of_run(context: Context, caller: Caller, run_id: str) -> Sequence[Secret]:
    caller.require(Action.RUN_SECRET_LIST)
    return _listing(context, context.store.runs.get(names.run_id(run_id)).workspace)


def read_of_run(context: Context, caller: Caller, run_id: str, wanted: Sequence[str]) -> dict[str, str | None]:
    """The secrets of a run's workspace."""
    caller.require(Action.RUN_SECRET_READ)
    return _read(context, context.store.runs.get(names.run_id(run_id)).workspace, wanted)


def delete(context: Context, caller: Caller, workspace: str, name: str) -> bool:
    """True when it existed."""
    caller.require(Action.SECRET_DELETE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    return context.store.secrets.delete(place, checked_name(name))


def key_file(context: Context) -> Path:
    """The file of the key that seals everything."""
    return Path(context.facts.home) / KEY_FILE


def nothing_sealed(context: Context) -> bool:
    """True when a new key may be made: nothing was sealed with an earlier one."""
    store = context.store
    return not (store.secrets.any_sealed() or store.datastores.any_sealed() or store.endpoints.any_sealed())
