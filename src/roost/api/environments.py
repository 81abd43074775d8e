"""Routes: environments, and what a build agent says of the one it built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheCaller, TheHouse
from roost.domain.containers import DockerUse
from roost.domain.environments import Archive, Build, Environment
from roost.domain.runs import Run
from roost.services import archives, environments
from roost.services.archives import Kept
from roost.services.environments import Outcome

desk = Desk("environments")


@dataclass(frozen=True, kw_only=True)
class Definition:
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Asked:
    definition: Mapping[str, Any] = field(default_factory=dict)
    docker: DockerUse | None = None
    """How a run sets its container up; None as the environment says."""
    forget: bool = False
    """Its lock is not known any more: it is resolved anew by whoever needs it next."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentList:
    environments: tuple[Environment, ...]


@dataclass(frozen=True, kw_only=True)
class ArchiveList:
    archives: tuple[Archive, ...]


@dataclass(frozen=True, kw_only=True)
class Dropped:
    deleted: str


@desk.route(
    "PUT",
    "/api/workspaces/{workspace}/environments/{name}",
    Access.PERSON,
    body=Definition,
    answer=Environment,
    statuses=(200, 201),
)
def register(house: TheHouse, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    made, new = environments.register(house, caller, workspace, name, record(Definition, body).definition)
    return answer(made, 201 if new else 200)


@desk.route("GET", "/api/workspaces/{workspace}/environments", Access.PERSON, answer=EnvironmentList)
def listing(house: TheHouse, workspace: str, name: str | None = None) -> Response:
    return answer(EnvironmentList(environments=tuple(environments.listing(house, workspace, name))))


@desk.route("GET", "/api/workspaces/{workspace}/environments/{name}", Access.PERSON, answer=Environment)
def get(house: TheHouse, workspace: str, name: str, version: str | None = None) -> Response:
    return answer(environments.get(house, workspace, name, version))


@desk.route("POST", "/api/workspaces/{workspace}/builds", Access.PERSON, body=Asked, answer=Build)
def look_up(house: TheHouse, workspace: str, body: JsonBytes) -> Response:
    asked = record(Asked, body)
    return answer(environments.look_up(house, workspace, asked.definition, asked.docker, forget=asked.forget))


@desk.route("POST", "/api/runs/{run_id}/environment", Access.RUN, body=Outcome, answer=Run)
def end_build(house: TheHouse, run_id: str, body: JsonBytes) -> Response:
    return answer(environments.end_build(house, run_id, record(Outcome, body)))


@desk.route("PUT", "/api/runs/{run_id}/environment/archive", Access.RUN, body=Kept, answer=Archive)
def put_archive(house: TheHouse, run_id: str, body: JsonBytes) -> Response:
    return answer(archives.put(house, run_id, record(Kept, body)))


@desk.route("GET", "/api/archives", Access.PERSON, answer=ArchiveList)
def list_archives(house: TheHouse) -> Response:
    return answer(ArchiveList(archives=tuple(archives.listing(house))))


@desk.route("GET", "/api/archives/{lock}", Access.ANY, answer=Archive)
def get_archive(house: TheHouse, lock: str) -> Response:
    return answer(archives.get(house, lock))


@desk.route("DELETE", "/api/archives/{lock}", Access.PERSON, answer=Dropped)
def drop_archive(house: TheHouse, lock: str) -> Response:
    archives.drop(house, lock)
    return answer(Dropped(deleted=lock))
