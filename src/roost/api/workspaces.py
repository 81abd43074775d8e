"""Routes: workspaces."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain.permissions import Action, Scope
from roost.domain.workspaces import Origin, Workspace
from roost.services import workspaces

router = Router("workspaces")


@dataclass(frozen=True, kw_only=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@router.route(
    "PUT", "/api/workspaces/{workspace}", Action.WORKSPACE_CREATE, Scope.WORKSPACE, body=Origin, answer=Workspace
)
def ensure(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    return answer(workspaces.ensure(context, caller, workspace, record(Origin, body)))


@router.route("GET", "/api/workspaces", Action.WORKSPACE_READ, Scope.SERVER, answer=WorkspaceList)
def listing(context: TheContext, caller: TheCaller) -> Response:
    return answer(WorkspaceList(workspaces=tuple(workspaces.listing(context, caller))))


@router.route("GET", "/api/workspaces/{workspace}", Action.WORKSPACE_READ, Scope.WORKSPACE, answer=Workspace)
def get(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(workspaces.get(context, caller, workspace))
