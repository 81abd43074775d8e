"""Routes: endpoints, their keys, replicas, logs, and the status of their fronts."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Response

from roost.api import lanes
from roost.api.answers import answer, plain_answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Finite, Seconds, Whole
from roost.api.waiting import LONGEST, flushed, until
from roost.domain.endpoints import Endpoint, Keys, Replica
from roost.domain.permissions import Action, Scope
from roost.services import endpoints
from roost.services.endpoints import Log, Token, Which, Wish
from roost.services.signals import endpoint_topic

router = Router("endpoints")

After = Annotated[Whole | None, Query(description="Wait until the endpoint's revision passes this one.")]
Wait = Annotated[Seconds, Query(description="Seconds to wait at most.")]
_ALL = "/api/workspaces/{workspace}/endpoints"
_ONE = _ALL + "/{name}"


@dataclass(frozen=True, kw_only=True)
class EndpointList:
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, kw_only=True)
class ReplicaList:
    replicas: tuple[Replica, ...]


@dataclass(frozen=True, kw_only=True)
class Records:
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Gone:
    gone: bool
    """True when all its processes have ended; else they end by themselves."""


@dataclass(frozen=True, kw_only=True)
class NewKey:
    which: Which
    key: str = ""
    """Empty for a generated key."""


@router.route("GET", _ALL, Action.ENDPOINT_READ, Scope.WORKSPACE, answer=EndpointList)
def listing(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(EndpointList(endpoints=tuple(endpoints.listing(context, caller, workspace))))


@router.route("PUT", _ONE, Action.ENDPOINT_DEPLOY, Scope.WORKSPACE, body=Wish, answer=Endpoint, statuses=(200, 201))
def put(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    endpoint, new = endpoints.put(context, caller, workspace, name, record(Wish, body))
    return answer(endpoint, 201 if new else 200)


@router.route("GET", _ONE, Action.ENDPOINT_READ, Scope.WORKSPACE, answer=Endpoint)
async def get(
    context: TheContext, caller: TheCaller, workspace: str, name: str, after: After = None, wait: Wait = 0
) -> Response:
    found = await until(
        context,
        endpoint_topic(workspace, name),
        wait,
        lambda: endpoints.get(context, caller, workspace, name),
        lambda endpoint: after is None or endpoint.revision > after,
    )
    return answer(found)


@router.route("DELETE", _ONE, Action.ENDPOINT_DELETE, Scope.WORKSPACE, answer=Gone)
async def delete(context: TheContext, caller: TheCaller, workspace: str, name: str, wait: Wait = LONGEST) -> Response:
    await lanes.run(endpoints.delete, context, caller, workspace, name)
    gone = await until(
        context,
        endpoint_topic(workspace, name),
        wait,
        lambda: endpoints.is_gone(context, caller, workspace, name),
        lambda over: over,
    )
    return answer(Gone(gone=gone))


@router.route("GET", _ONE + "/keys", Action.ENDPOINT_KEY_READ, Scope.WORKSPACE, answer=Keys)
def keys(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return _private(answer(endpoints.keys(context, caller, workspace, name)))


@router.route("POST", _ONE + "/keys", Action.ENDPOINT_KEY_CHANGE, Scope.WORKSPACE, body=NewKey, answer=Keys)
def regenerate(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    new = record(NewKey, body)
    return _private(answer(endpoints.regenerate(context, caller, workspace, name, new.which, new.key)))


@router.route("POST", _ONE + "/token", Action.ENDPOINT_TOKEN_CREATE, Scope.WORKSPACE, answer=Token)
def token(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return _private(answer(endpoints.token(context, caller, workspace, name)))


@router.route("GET", _ONE + "/logs", Action.ENDPOINT_READ, Scope.WORKSPACE, answer=Log)
async def logs(
    context: TheContext, caller: TheCaller, workspace: str, name: str, lines: Whole = 5000, replica: str = ""
) -> Response:
    """Includes everything written before the call, if the agents of the replicas answer in time."""
    writing = await lanes.run(endpoints.writes, context, caller, workspace, name, replica=replica)
    await asyncio.gather(*(flushed(context, caller, run_id) for run_id in writing))
    return answer(await lanes.run(endpoints.logs, context, caller, workspace, name, lines=lines, replica=replica))


@router.route("GET", _ONE + "/replicas", Action.ENDPOINT_READ, Scope.WORKSPACE, answer=ReplicaList)
def replicas(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(ReplicaList(replicas=tuple(endpoints.replicas_of(context, caller, workspace, name))))


@router.route("GET", _ONE + "/status", Action.ENDPOINT_READ, Scope.WORKSPACE, answer=dict)
def status(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return plain_answer(endpoints.status(context, caller, workspace, name))


@router.route("GET", _ONE + "/records", Action.ENDPOINT_RECORD_READ, Scope.WORKSPACE, answer=Records)
def records(
    context: TheContext, caller: TheCaller, workspace: str, name: str, limit: Whole = 100, before: Finite | None = None
) -> Response:
    found: list[dict[str, Any]] = endpoints.records(context, caller, workspace, name, limit=limit, before=before)
    return _private(plain_answer({"records": found}))


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
