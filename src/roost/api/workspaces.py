"""Routes: workspaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheCaller, TheHouse
from roost.domain.workspaces import Workspace
from roost.services import workspaces

desk = Desk("workspaces")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a workspace stood in Azure; kept for the scripts that print it."""

    subscription_id: str = ""
    resource_group: str = ""
    location: str = "local"
    sku: str = "Basic"
    friendly_name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@desk.route("PUT", "/api/workspaces/{name}", Access.PERSON, body=Origin, answer=Workspace)
def ensure(house: TheHouse, caller: TheCaller, name: str, body: JsonBytes) -> Response:
    return answer(workspaces.ensure(house, caller, name, **vars(record(Origin, body))))


@desk.route("GET", "/api/workspaces", Access.PERSON, answer=WorkspaceList)
def listing(house: TheHouse) -> Response:
    return answer(WorkspaceList(workspaces=tuple(workspaces.listing(house))))


@desk.route("GET", "/api/workspaces/{name}", Access.PERSON, answer=Workspace)
def get(house: TheHouse, name: str) -> Response:
    return answer(workspaces.get(house, name))
