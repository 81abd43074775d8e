"""Routes: the key vault of a workspace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheCaller, TheHouse
from roost.domain.secrets import Secret
from roost.services import secrets

desk = Desk("secrets")

Names = Annotated[list[str], Query(description="Whose values; repeated")]


@dataclass(frozen=True, kw_only=True)
class SecretList:
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, kw_only=True)
class SecretValues:
    secrets: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class FoundValues:
    """None for a secret that is not there."""

    secrets: Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class SecretCount:
    count: int


@desk.route("PUT", "/api/workspaces/{workspace}/secrets", Access.PERSON, body=SecretValues, answer=SecretCount)
def put(house: TheHouse, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    return answer(SecretCount(count=secrets.put(house, caller, workspace, record(SecretValues, body).secrets)))


@desk.route("GET", "/api/workspaces/{workspace}/secrets", Access.PERSON, answer=SecretList)
def listing(house: TheHouse, workspace: str) -> Response:
    return answer(SecretList(secrets=tuple(secrets.listing(house, workspace))))


@desk.route("GET", "/api/workspaces/{workspace}/secrets/values", Access.PERSON, answer=FoundValues)
def read(house: TheHouse, caller: TheCaller, workspace: str, name: Names) -> Response:
    return _private(answer(FoundValues(secrets=secrets.read(house, caller, workspace, name))))


@desk.route("DELETE", "/api/workspaces/{workspace}/secrets/{name}", Access.PERSON, answer=SecretCount)
def delete(house: TheHouse, workspace: str, name: str) -> Response:
    return answer(SecretCount(count=int(secrets.delete(house, workspace, name))))


@desk.route("GET", "/api/runs/{run_id}/secrets", Access.RUN, answer=SecretList)
def listing_of_run(house: TheHouse, run_id: str) -> Response:
    return answer(SecretList(secrets=tuple(secrets.listing_of_run(house, run_id))))


@desk.route("GET", "/api/runs/{run_id}/secrets/values", Access.RUN, answer=FoundValues)
def read_of_run(house: TheHouse, caller: TheCaller, run_id: str, name: Names) -> Response:
    return _private(answer(FoundValues(secrets=secrets.read_of_run(house, caller, run_id, name))))


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
