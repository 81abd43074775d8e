"""Routes: workspaces."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Desk, TheCaller, TheHouse
from roost.domain.permissions import Action, Scope
from roost.domain.workspaces import Origin, Workspace
from roost.services import workspaces

desk = Desk("workspaces")


@dataclass(frozen=True, kw_only=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@desk.route(
    "PUT", "/api/workspaces/{workspace}", Action.WORKSPACE_CREATE, Scope.WORKSPACE, body=Origin, answer=Workspace
)
def ensure(house: TheHouse, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    return answer(workspaces.ensure(house, caller, workspace, record(Origin, body)))


@desk.route("GET", "/api/workspaces", Action.WORKSPACE_READ, Scope.SERVER, answer=WorkspaceList)
def listing(house: TheHouse, caller: TheCaller) -> Response:
    return answer(WorkspaceList(workspaces=tuple(workspaces.listing(house, caller))))


@desk.route("GET", "/api/workspaces/{workspace}", Action.WORKSPACE_READ, Scope.WORKSPACE, answer=Workspace)
def get(house: TheHouse, caller: TheCaller, workspace: str) -> Response:
    return answer(workspaces.get(house, caller, workspace))
