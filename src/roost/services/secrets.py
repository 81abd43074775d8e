"""Secrets of a workspace, sealed before they reach the store. A run may read those of its own workspace; a browser none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.secrets import Secret, checked_name, checked_value
from roost.services import vault
from roost.services.house import House

MAX_AT_ONCE = 1000
KEY_FILE = "vault.key"
"""In the home folder."""


def put(house: House, caller: Caller, workspace: str, values: Mapping[str, str]) -> int:
    """Sets these secrets, all or none."""
    caller.require(Action.SECRET_WRITE)
    place = house.store.workspaces.get(names.workspace(workspace)).name
    for name, value in values.items():
        checked_value(checked_name(name), value)
    if len(values) > MAX_AT_ONCE:
        raise InvalidInput(f"{len(values)} secrets at once are too many.", hint=f"Set at most {MAX_AT_ONCE}.")
    first = nothing_sealed(house)
    sealed = {
        name: vault.seal(key_file(house), place, name, value, may_make_key=first) for name, value in values.items()
    }
    house.store.secrets.put(place, sealed, user=caller.user, at=house.clock())
    return len(sealed)


def listing(house: House, caller: Caller, workspace: str) -> Sequence[Secret]:
    """By name, without values."""
    caller.require(Action.SECRET_LIST)
    return _listing(house, workspace)


def _listing(house: House, workspace: str) -> Sequence[Secret]:
    return house.store.secrets.list(house.store.workspaces.get(names.workspace(workspace)).name)


def read(house: House, caller: Caller, workspace: str, wanted: Sequence[str]) -> dict[str, str | None]:
    """Values by name; None for one that is not there."""
    caller.require(Action.SECRET_READ)
    return _read(house, workspace, wanted)


def _read(house: House, workspace: str, wanted: Sequence[str]) -> dict[str, str | None]:
    place = house.store.workspaces.get(names.workspace(workspace)).name
    for name in wanted:
        checked_name(name)
    sealed = house.store.secrets.get(place, wanted)
    return {
        name: vault.unseal(key_file(house), place, name, sealed[name]) if name in sealed else None for name in wanted
    }


def listing_of_run(house: House, caller: Caller, run_id: str) -> Sequence[Secret]:
    caller.require(Action.RUN_SECRET_LIST)
    return _listing(house, house.store.runs.get(names.run_id(run_id)).workspace)


def read_of_run(house: House, caller: Caller, run_id: str, wanted: Sequence[str]) -> dict[str, str | None]:
    """The secrets of a run's workspace."""
    caller.require(Action.RUN_SECRET_READ)
    return _read(house, house.store.runs.get(names.run_id(run_id)).workspace, wanted)


def delete(house: House, caller: Caller, workspace: str, name: str) -> bool:
    """Whether it was there."""
    caller.require(Action.SECRET_DELETE)
    place = house.store.workspaces.get(names.workspace(workspace)).name
    return house.store.secrets.delete(place, checked_name(name))


def key_file(house: House) -> Path:
    """Where the key is that everything is sealed with."""
    return Path(house.facts.home) / KEY_FILE


def nothing_sealed(house: House) -> bool:
    """Whether a key may be made: nothing was sealed with an earlier one."""
    store = house.store
    return not (store.secrets.any_sealed() or store.datastores.any_sealed() or store.endpoints.any_sealed())
