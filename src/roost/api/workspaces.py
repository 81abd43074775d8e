"""Routes: workspaces."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheCaller, TheHouse
from roost.domain.workspaces import Origin, Workspace
from roost.services import workspaces

desk = Desk("workspaces")


@dataclass(frozen=True, kw_only=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@desk.route("PUT", "/api/workspaces/{name}", Access.PERSON, body=Origin, answer=Workspace)
def ensure(house: TheHouse, caller: TheCaller, name: str, body: JsonBytes) -> Response:
    return answer(workspaces.ensure(house, caller, name, record(Origin, body)))


@desk.route("GET", "/api/workspaces", Access.PERSON, answer=WorkspaceList)
def listing(house: TheHouse) -> Response:
    return answer(WorkspaceList(workspaces=tuple(workspaces.listing(house))))


@desk.route("GET", "/api/workspaces/{name}", Access.PERSON, answer=Workspace)
def get(house: TheHouse, name: str) -> Response:
    return answer(workspaces.get(house, name))
