"""Workspaces and experiments: made when first named, found again by name."""

import uuid
from collections.abc import Sequence

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.people import Caller
from roost.domain.workspaces import Experiment, Workspace
from roost.services.house import House

MAX_FIELD = 255


def ensure(
    house: House,
    caller: Caller,
    name: str,
    *,
    subscription_id: str = "",
    resource_group: str = "",
    location: str = "local",
) -> Workspace:
    for field, value in (
        ("subscription_id", subscription_id),
        ("resource_group", resource_group),
        ("location", location),
    ):
        if len(value) > MAX_FIELD:
            raise InvalidInput(f"{field} has {len(value)} characters; at most {MAX_FIELD} are kept.")
    workspace = Workspace(
        name=names.workspace(name),
        user=caller.user,
        created_at=house.clock(),
        subscription_id=subscription_id,
        resource_group=resource_group,
        location=location or "local",
    )
    return house.store.workspaces.ensure(workspace)


def get(house: House, name: str) -> Workspace:
    return house.store.workspaces.get(names.workspace(name))


def listing(house: House) -> Sequence[Workspace]:
    return house.store.workspaces.list()


def ensure_experiment(house: House, caller: Caller, workspace: str, name: str) -> Experiment:
    names.experiment(name)
    get(house, workspace)
    return house.store.workspaces.ensure_experiment(
        Experiment(id=str(uuid.uuid4()), workspace=workspace, name=name, user=caller.user, created_at=house.clock())
    )


def get_experiment(house: House, workspace: str, name: str) -> Experiment:
    return house.store.workspaces.get_experiment(names.workspace(workspace), names.experiment(name))


def experiments(house: House, workspace: str) -> Sequence[Experiment]:
    return house.store.workspaces.list_experiments(get(house, workspace).name)
