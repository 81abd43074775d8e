"""Routes: compute targets and their nodes."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.runs import After, Wait
from roost.api.waiting import until
from roost.domain.compute import Compute, ComputeSpec, ComputeStatus, Node
from roost.domain.permissions import Action, Scope
from roost.services import compute
from roost.services.compute import ComputeChanges
from roost.services.signals import compute_topic

router = Router("compute")


@dataclass(frozen=True, kw_only=True)
class ComputeList:
    computes: tuple[ComputeStatus, ...]


@dataclass(frozen=True, kw_only=True)
class Deleted:
    deleted: str


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/computes/{name}",
    Action.COMPUTE_CREATE,
    Scope.WORKSPACE,
    body=ComputeSpec,
    answer=Compute,
    statuses=(200, 201),
)
def create(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    made, new = compute.create(context, caller, workspace, name, record(ComputeSpec, body))
    return answer(made, 201 if new else 200)


@router.route("GET", "/api/workspaces/{workspace}/computes", Action.COMPUTE_READ, Scope.WORKSPACE, answer=ComputeList)
def listing(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(ComputeList(computes=tuple(compute.listing(context, caller, workspace))))


@router.route(
    "GET", "/api/workspaces/{workspace}/computes/{name}", Action.COMPUTE_READ, Scope.WORKSPACE, answer=ComputeStatus
)
async def get(
    context: TheContext, caller: TheCaller, workspace: str, name: str, after: After = None, wait: Wait = 0
) -> Response:
    def newer(status: ComputeStatus) -> bool:
        return after is None or status.compute.revision > after

    def look() -> ComputeStatus:
        return compute.status(context, caller, workspace, name)

    status = await until(context, compute_topic(workspace, name), wait, look, newer)
    return answer(status)


@router.route(
    "PATCH",
    "/api/workspaces/{workspace}/computes/{name}",
    Action.COMPUTE_CHANGE,
    Scope.WORKSPACE,
    body=ComputeChanges,
    answer=Compute,
)
def update(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    return answer(compute.update(context, caller, workspace, name, record(ComputeChanges, body)))


@router.route(
    "DELETE", "/api/workspaces/{workspace}/computes/{name}", Action.COMPUTE_DELETE, Scope.WORKSPACE, answer=Deleted
)
def delete(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    compute.delete(context, caller, workspace, name)
    return answer(Deleted(deleted=name))


@router.route(
    "POST",
    "/api/workspaces/{workspace}/computes/{name}/nodes/{node}/preempt",
    Action.COMPUTE_PREEMPT,
    Scope.WORKSPACE,
    answer=Node,
)
def preempt(context: TheContext, caller: TheCaller, workspace: str, name: str, node: str) -> Response:
    return answer(compute.preempt(context, caller, workspace, name, node))
