"""Routes: environments, and the reports of build agents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain.containers import DockerUse
from roost.domain.environments import Archive, Build, Environment
from roost.domain.permissions import Action, Scope
from roost.domain.runs import Run
from roost.services import archives, environments
from roost.services.archives import Kept
from roost.services.environments import Outcome

router = Router("environments")


@dataclass(frozen=True, kw_only=True)
class Definition:
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Asked:
    definition: Mapping[str, Any] = field(default_factory=dict)
    docker: DockerUse | None = None
    """The container settings of a run; None for those of the environment."""
    forget: bool = False
    """True: drops its lock, so that the next run that needs it resolves it again."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentList:
    environments: tuple[Environment, ...]


@dataclass(frozen=True, kw_only=True)
class ArchiveList:
    archives: tuple[Archive, ...]


@dataclass(frozen=True, kw_only=True)
class Dropped:
    deleted: str


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/environments/{name}",
    Action.ENVIRONMENT_REGISTER,
    Scope.WORKSPACE,
    body=Definition,
    answer=Environment,
    statuses=(200, 201),
)
def register(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    made, new = environments.register(context, caller, workspace, name, record(Definition, body).definition)
    return answer(made, 201 if new else 200)


@router.route(
    "GET", "/api/workspaces/{workspace}/environments", Action.ENVIRONMENT_READ, Scope.WORKSPACE, answer=EnvironmentList
)
def listing(context: TheContext, caller: TheCaller, workspace: str, name: str | None = None) -> Response:
    return answer(EnvironmentList(environments=tuple(environments.listing(context, caller, workspace, name))))


@router.route(
    "GET",
    "/api/workspaces/{workspace}/environments/{name}",
    Action.ENVIRONMENT_READ,
    Scope.WORKSPACE,
    answer=Environment,
)
def get(context: TheContext, caller: TheCaller, workspace: str, name: str, version: str | None = None) -> Response:
    return answer(environments.get(context, caller, workspace, name, version))


@router.route(
    "POST", "/api/workspaces/{workspace}/builds", Action.BUILD_LOOK_UP, Scope.WORKSPACE, body=Asked, answer=Build
)
def look_up(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    asked = record(Asked, body)
    return answer(environments.look_up(context, caller, workspace, asked.definition, asked.docker, forget=asked.forget))


@router.route("POST", "/api/runs/{run_id}/environment", Action.BUILD_REPORT, Scope.RUN, body=Outcome, answer=Run)
def end_build(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(environments.end_build(context, caller, run_id, record(Outcome, body)))


@router.route(
    "PUT", "/api/runs/{run_id}/environment/archive", Action.ARCHIVE_WRITE, Scope.RUN, body=Kept, answer=Archive
)
def put_archive(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(archives.put(context, caller, run_id, record(Kept, body)))


@router.route("GET", "/api/archives", Action.ARCHIVE_LIST, Scope.SERVER, answer=ArchiveList)
def list_archives(context: TheContext, caller: TheCaller) -> Response:
    return answer(ArchiveList(archives=tuple(archives.listing(context, caller))))


@router.route("GET", "/api/archives/{lock}", Action.ARCHIVE_READ, Scope.SERVER, answer=Archive)
def get_archive(context: TheContext, caller: TheCaller, lock: str) -> Response:
    return answer(archives.get(context, caller, lock))


@router.route("DELETE", "/api/archives/{lock}", Action.ARCHIVE_DELETE, Scope.SERVER, answer=Dropped)
def drop_archive(context: TheContext, caller: TheCaller, lock: str) -> Response:
    archives.drop(context, caller, lock)
    return answer(Dropped(deleted=lock))
