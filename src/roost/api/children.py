"""Routes: the runs below a run."""

from typing import Annotated

from fastapi import Query, Response

from roost.api.answers import answer
from roost.api.bodies import FilesBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.runs import RunList, pairs
from roost.domain.permissions import Action, Scope
from roost.domain.runs import RunKind, RunStatus
from roost.services import children
from roost.services.children import Newborn, Wanted

router = Router("children")


@router.route(
    "POST",
    "/api/runs/{run_id}/children",
    Action.RUN_CREATE_CHILD,
    Scope.RUN,
    body=Newborn,
    answer=RunList,
    statuses=(201,),
)
def create(context: TheContext, caller: TheCaller, run_id: str, body: FilesBytes) -> Response:
    return answer(RunList(runs=tuple(children.create(context, caller, run_id, record(Newborn, body)))), 201)


@router.route("GET", "/api/runs/{run_id}/children", Action.RUN_READ, Scope.RUN, answer=RunList)
def listing(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    recursive: bool = False,
    status: Annotated[list[RunStatus] | None, Query()] = None,
    kind: RunKind | None = None,
    tag: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None,
    property: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None,  # noqa: A002 the wire's word
) -> Response:
    wanted = Wanted(
        recursive=recursive, status=tuple(status or ()), kind=kind, tags=pairs(tag), properties=pairs(property)
    )
    return answer(RunList(runs=tuple(children.listing(context, caller, run_id, wanted))))
