"""Routes: the models of a workspace, and those of a run."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Whole
from roost.api.runs import pairs
from roost.domain.models import Model
from roost.domain.permissions import Action, Scope
from roost.services import models
from roost.services.models import ModelChanges, ModelQuery, NewModel

router = Router("models")

_ONE = "/api/workspaces/{workspace}/models/{name}/{version}"


@dataclass(frozen=True, kw_only=True)
class ModelList:
    models: tuple[Model, ...]


@dataclass(frozen=True, kw_only=True)
class ModelCount:
    count: int


@dataclass(frozen=True, kw_only=True)
class ModelUsers:
    runs: tuple[str, ...]
    """Ids of the runs that read it, newest first."""
    services: tuple[str, ...]
    """Names of the services that use it."""


@dataclass(frozen=True, kw_only=True)
class ModelsOfRun:
    registered: tuple[Model, ...]
    used: tuple[str, ...]
    """Ids of models."""


@router.route(
    "POST",
    "/api/workspaces/{workspace}/models",
    Action.MODEL_REGISTER,
    Scope.WORKSPACE,
    body=NewModel,
    answer=Model,
    statuses=(200, 201),
)
def register(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    model, new = models.register(context, caller, workspace, record(NewModel, body))
    return answer(model, 201 if new else 200)


@router.route("GET", "/api/workspaces/{workspace}/models", Action.MODEL_READ, Scope.WORKSPACE, answer=ModelList)
def listing(
    context: TheContext,
    caller: TheCaller,
    workspace: str,
    name: str | None = None,
    tag: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None,
    property: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None,  # noqa: A002 the wire's word
    run_id: str | None = None,
    dataset_id: str | None = None,
    framework: str | None = None,
    latest: bool = False,
    limit: Whole | None = None,
) -> Response:
    query = ModelQuery(
        name=name,
        tags=pairs(tag),
        properties=pairs(property),
        run_id=run_id,
        dataset_id=dataset_id,
        framework=framework,
        latest=latest,
        limit=limit,
    )
    return answer(ModelList(models=tuple(models.listing(context, caller, workspace, query))))


@router.route("GET", "/api/workspaces/{workspace}/models/{name}", Action.MODEL_READ, Scope.WORKSPACE, answer=Model)
def get(context: TheContext, caller: TheCaller, workspace: str, name: str, version: Whole | None = None) -> Response:
    return answer(models.get(context, caller, workspace, name, version))


@router.route("PATCH", _ONE, Action.MODEL_CHANGE, Scope.WORKSPACE, body=ModelChanges, answer=Model)
def change(
    context: TheContext, caller: TheCaller, workspace: str, name: str, version: Whole, body: JsonBytes
) -> Response:
    return answer(models.change(context, caller, workspace, name, version, record(ModelChanges, body)))


@router.route("DELETE", _ONE, Action.MODEL_DELETE, Scope.WORKSPACE, answer=ModelCount)
def delete(context: TheContext, caller: TheCaller, workspace: str, name: str, version: Whole) -> Response:
    return answer(ModelCount(count=int(models.delete(context, caller, workspace, name, version))))


@router.route("GET", _ONE + "/users", Action.MODEL_TRACE, Scope.WORKSPACE, answer=ModelUsers)
def users(context: TheContext, caller: TheCaller, workspace: str, name: str, version: Whole) -> Response:
    runs, services = models.users(context, caller, workspace, name, version)
    return answer(ModelUsers(runs=tuple(runs), services=tuple(services)))


@router.route("GET", "/api/runs/{run_id}/models", Action.RUN_READ, Scope.RUN, answer=ModelsOfRun)
def of_run(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    registered, used = models.of_run(context, caller, run_id)
    return answer(ModelsOfRun(registered=tuple(registered), used=tuple(used)))
