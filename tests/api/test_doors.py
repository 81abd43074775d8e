"""Every route of the app, walked with no token, a wrong one, another run's and the run's own."""

import pytest
from fastapi import FastAPI
from tests.api.clients import Client
from tests.api.desks import Desk, routes
from tests.api.desks import address as address_of
from tests.services.houses import submit

from roost.api import doors
from roost.api.app import create_app
from roost.api.doors import OPEN, Access


def test_every_route_is_closed_to_those_who_may_not_enter(desk: Desk) -> None:
    mine, other = submit(desk.house), submit(desk.house)
    own, foreign = desk.run_client(mine.id), desk.run_client(other.id)
    wrong = Client(desk.url, "person-token-but-not-quite")
    walked = routes(desk)
    assert len(walked) > 25
    for method, path, access in walked:
        if path == "/api/server/shutdown":
            continue  # its own test, below: it ends the server for those who may
        address = address_of(path, mine.id)
        answers = {
            name: client.call(method, address)
            for name, client in (
                ("none", desk.stranger),
                ("wrong", wrong),
                ("foreign", foreign),
                ("own", own),
                ("person", desk.person),
            )
        }
        where = f"{method} {path}"
        statuses = {name: answer.status for name, answer in answers.items()}
        closed = {name for name, status in statuses.items() if status in (401, 403)}
        expected = {
            Access.OPEN: set[str](),
            Access.ANY: {"none", "wrong"},
            Access.RUN: {"none", "wrong", "foreign"},
            Access.PERSON: {"none", "wrong", "foreign", "own"},
        }[access]
        assert closed == expected, (where, statuses)
        for name in expected:
            code = "unauthorized" if name in ("none", "wrong") else "forbidden"
            assert answers[name].error["code"] == code, where
        assert all(status < 500 for status in statuses.values()), (where, statuses)


def test_whatever_a_run_s_token_asks_says_that_it_lives(desk: Desk) -> None:
    run = submit(desk.house)
    assert desk.person.get(f"/api/runs/{run.id}").status == 200
    assert desk.house.heard.get(run.id) is None
    assert desk.run_client(run.id).post("/api/blobs/missing", {"names": []}).status == 200
    assert desk.house.heard.get(run.id) == desk.house.clock()


def test_only_a_person_ends_the_server(desk: Desk) -> None:
    run = submit(desk.house)
    assert desk.stranger.post("/api/server/shutdown").status == 401
    assert desk.run_client(run.id).post("/api/server/shutdown").status == 403
    assert not desk.server.should_exit


def test_only_health_and_the_way_in_are_open(desk: Desk) -> None:
    assert {path for method, path in OPEN if path.startswith("/api/")} == {"/api/health"}
    assert {method for method, _ in OPEN} == {"GET"}
    assert {path for _, path in OPEN} - {"/api/health"} == {
        "/login",
        "/",
        "/runs/{run_id}",
        "/data",
        "/data/{name}",
        "/serving",
        "/models/{name}",
        "/studio/{name}",
    }
    assert {(method, path) for method, path, access in routes(desk) if access is Access.OPEN} == OPEN


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic person-token", "person-token"])
def test_headers_that_hold_no_token(desk: Desk, header: str) -> None:
    answer = desk.stranger.get("/api/workspaces", headers={"Authorization": header})
    assert (answer.status, answer.error["code"]) == (401, "unauthorized")


def test_a_route_without_a_sign_cannot_be_served(desk: Desk) -> None:
    app = create_app(desk.house, hosts=frozenset(), stop=lambda: None)
    app.add_api_route("/api/back-door", lambda: None)
    with pytest.raises(RuntimeError, match="back-door does not say who may enter"):
        doors.served(app)


@pytest.mark.parametrize(
    ("path", "access", "words"),
    [("/api/new", Access.OPEN, "open routes"), ("/api/new", Access.RUN, "names no run")],
)
def test_signs_that_cannot_be(path: str, access: Access, words: str) -> None:
    app, desk = FastAPI(openapi_url=None), doors.Desk("new")
    desk.route("GET", path, access)(lambda: None)
    desk.mount(app)
    with pytest.raises(RuntimeError, match=words):
        doors.served(app)
