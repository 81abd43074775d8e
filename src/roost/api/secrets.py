"""Routes: the key vault of a workspace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain.permissions import Action, Scope
from roost.domain.secrets import Secret
from roost.services import secrets

router = Router("secrets")

Names = Annotated[list[str], Query(description="Whose values; repeated")]


@dataclass(frozen=True, kw_only=True)
class SecretList:
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, kw_only=True)
class SecretValues:
    secrets: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class FoundValues:
    """Values by name; None for a secret that does not exist."""

    secrets: Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class SecretCount:
    count: int


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/secrets",
    Action.SECRET_WRITE,
    Scope.WORKSPACE,
    body=SecretValues,
    answer=SecretCount,
)
def put(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    return answer(SecretCount(count=secrets.put(context, caller, workspace, record(SecretValues, body).secrets)))


@router.route("GET", "/api/workspaces/{workspace}/secrets", Action.SECRET_LIST, Scope.WORKSPACE, answer=SecretList)
def listing(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(SecretList(secrets=tuple(secrets.listing(context, caller, workspace))))


@router.route(
    "GET", "/api/workspaces/{workspace}/secrets/values", Action.SECRET_READ, Scope.WORKSPACE, answer=FoundValues
)
def read(context: TheContext, caller: TheCaller, workspace: str, name: Names) -> Response:
    return _private(answer(FoundValues(secrets=secrets.read(context, caller, workspace, name))))


@router.route(
    "DELETE", "/api/workspaces/{workspace}/secrets/{name}", Action.SECRET_DELETE, Scope.WORKSPACE, answer=SecretCount
)
def delete(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(SecretCount(count=int(secrets.delete(context, caller, workspace, name))))


@router.route("GET", "/api/runs/{run_id}/secrets", Action.RUN_SECRET_LIST, Scope.RUN, answer=SecretList)
def listing_of_run(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    return answer(SecretList(secrets=tuple(secrets.listing_of_run(context, caller, run_id))))


@router.route("GET", "/api/runs/{run_id}/secrets/values", Action.RUN_SECRET_READ, Scope.RUN, answer=FoundValues)
def read_of_run(context: TheContext, caller: TheCaller, run_id: str, name: Names) -> Response:
    return _private(answer(FoundValues(secrets=secrets.read_of_run(context, caller, run_id, name))))


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
