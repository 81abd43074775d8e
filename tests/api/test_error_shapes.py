"""Another protocol beside Roost's own: a toy router with its own shape of errors, limit and spelling of bodies."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qs

import pytest
from fastapi import Depends, FastAPI, Response
from tests.shared.clients import Answer
from tests.shared.contexts import make_house

from roost.api import doors
from roost.api.app import create_app
from roost.api.bodies import limited
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.errors import ErrorShape
from roost.api.openapi import describe
from roost.domain.errors import RoostError
from roost.domain.permissions import Action, Scope
from roost.services import people, workspaces

WORDS = {"unauthorized": "NO_TOKEN", "not_found": "RESOURCE_DOES_NOT_EXIST", "too_large": "TOO_MUCH"}


def toy_failure(error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    body = {"error_code": WORDS.get(error.code, "BAD_REQUEST"), "message": str(error)}
    return Response(json.dumps(body), status or error.http_status, headers, "application/json")


TOY = ErrorShape(
    prefix="/api/toy/",
    failure=toy_failure,
    schema={"type": "object", "required": ["error_code", "message"]},
)
ToyBytes = Annotated[bytes, Depends(limited(32))]
"""At most 32 bytes, where Roost's own routes take megabytes."""

toy = Router("toy", errors=TOY)


@toy.route(
    "POST", "/api/toy/workspaces/{workspace}/get", Action.WORKSPACE_READ, Scope.WORKSPACE, body=bytes, answer=dict
)
def get(context: TheContext, caller: TheCaller, workspace: str, body: ToyBytes, count: int = 1) -> Response:
    """Takes a form and answers in lines: a codec of its own."""
    form = parse_qs(body.decode())
    found = workspaces.get(context, caller, form.get("name", [workspace])[0])
    return Response(f"name: {found.name}\n" * count, media_type="text/plain")


@toy.route("GET", "/api/toy/broken", Action.SERVER_READ, Scope.SERVER)
def broken() -> Response:
    raise ZeroDivisionError("unforeseen")


@dataclass(frozen=True)
class Caller:
    """Calls the app itself, without a socket."""

    app: FastAPI
    token: str = "person-token"

    def call(self, method: str, path: str, body: bytes = b"", host: str = "roost") -> Answer:
        return asyncio.run(self._call(method, path, body, host))

    async def _call(self, method: str, path: str, body: bytes, host: str) -> Answer:
        bare, _, query = path.partition("?")
        headers = [(b"host", host.encode()), (b"authorization", f"Bearer {self.token}".encode())]
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": bare,
            "raw_path": bare.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        sent: list[dict[str, object]] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)  # type: ignore[arg-type]
        start, *rest = sent
        pairs: list[tuple[bytes, bytes]] = start["headers"]  # type: ignore[assignment]
        content = b"".join(message["body"] for message in rest)  # type: ignore[misc]
        return Answer(int(str(start["status"])), {k.decode(): v.decode() for k, v in pairs}, content)


@pytest.fixture
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    context = make_house(tmp_path_factory.mktemp("toy"))
    people.admit_person(context, "person-token", user="ann")
    yield Caller(create_app(context, hosts=frozenset({"roost"}), stop=lambda: None, pages=(toy,)))
    context.store.close()


ONE = "/api/toy/workspaces/vision/get"


def test_it_has_a_codec_of_its_own(caller: Caller) -> None:
    answer = caller.call("POST", ONE, b"name=vision")
    assert (answer.status, answer.body) == (200, b"name: vision\n")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", ONE, b"name=nothing", 404, "RESOURCE_DOES_NOT_EXIST"),
        ("POST", f"{ONE}?count=many", b"", 400, "BAD_REQUEST"),
        ("POST", ONE, b"x" * 33, 413, "TOO_MUCH"),
        ("GET", ONE, b"", 405, "RESOURCE_DOES_NOT_EXIST"),
        ("GET", "/api/toy/nothing", b"", 404, "RESOURCE_DOES_NOT_EXIST"),
        ("GET", "/api/toy/broken", b"", 500, "BAD_REQUEST"),
    ],
)
def test_every_error_below_its_prefix_has_its_shape(
    caller: Caller, method: str, path: str, body: bytes, status: int, code: str
) -> None:
    answer = caller.call(method, path, body)
    assert (answer.status, answer.json["error_code"]) == (status, code)
    assert set(answer.json) == {"error_code", "message"}


def test_the_guard_and_the_door_refuse_in_its_shape(caller: Caller) -> None:
    foreign = caller.call("POST", ONE, host="evil.example")
    assert (foreign.status, foreign.json["error_code"]) == (403, "BAD_REQUEST")
    unknown = Caller(caller.app, "wrong").call("POST", ONE)
    assert (unknown.status, unknown.json["error_code"]) == (401, "NO_TOKEN")


def test_roost_s_own_routes_keep_their_shape(caller: Caller) -> None:
    for path in ("/api/workspaces/nothing", "/api/nothing", "/api/toybox"):
        assert caller.call("GET", path).error["code"] == "not_found"
    assert caller.call("GET", "/api/health", host="evil.example").error["code"] == "forbidden"


def test_the_description_has_both_shapes(caller: Caller) -> None:
    paths = describe(caller.app)["paths"]
    refused = paths["/api/toy/workspaces/{workspace}/get"]["post"]["responses"]["404"]
    assert refused["content"]["application/json"]["schema"] == TOY.schema
    assert paths["/api/workspaces"]["get"]["responses"]["404"] == {"$ref": "#/components/responses/Error404"}


def test_a_route_outside_the_prefix_of_its_desk_cannot_be_served(tmp_path_factory: pytest.TempPathFactory) -> None:
    context = make_house(tmp_path_factory.mktemp("toy"))
    lost = doors.Router("lost", errors=TOY)
    lost.route("GET", "/api/elsewhere", Action.SERVER_READ, Scope.SERVER)(lambda: None)
    with pytest.raises(RuntimeError, match="outside the prefix"):
        create_app(context, hosts=frozenset(), stop=lambda: None, pages=(lost,))
    context.store.close()
