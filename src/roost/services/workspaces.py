"""Workspaces: made when first named, found again by name."""

from collections.abc import Mapping, Sequence

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.people import Caller
from roost.domain.workspaces import Workspace
from roost.services import submissions
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
    sku: str = "Basic",
    friendly_name: str = "",
    tags: Mapping[str, str] | None = None,
) -> Workspace:
    for field, value in (
        ("subscription_id", subscription_id),
        ("resource_group", resource_group),
        ("location", location),
        ("sku", sku),
        ("friendly_name", friendly_name),
    ):
        if len(value) > MAX_FIELD:
            raise InvalidInput(f"{field} has {len(value)} characters; at most {MAX_FIELD} are kept.")
    submissions.check_labels(tags or {}, {})
    workspace = Workspace(
        name=names.workspace(name),
        user=caller.user,
        created_at=house.clock(),
        subscription_id=subscription_id,
        resource_group=resource_group,
        location=location or "local",
        sku=sku or "Basic",
        friendly_name=friendly_name,
        tags=dict(tags or {}),
    )
    return house.store.workspaces.ensure(workspace)


def get(house: House, name: str) -> Workspace:
    return house.store.workspaces.get(names.workspace(name))


def listing(house: House) -> Sequence[Workspace]:
    return house.store.workspaces.list()
