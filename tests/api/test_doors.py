"""Every route of the app, walked in every role: no token, a wrong one, a person's, a browser's session, and runs' tokens."""

import pytest
from fastapi import FastAPI
from tests.api.golden_routes import ROUTES, Row
from tests.shared.api_servers import ApiServer, routes, signed_in
from tests.shared.api_servers import address as address_of
from tests.shared.clients import Client
from tests.shared.contexts import ANN, submit

from roost.api import doors
from roost.api.app import create_app
from roost.api.doors import OPEN
from roost.api.errors import ErrorShapes
from roost.domain.permissions import Action, Scope
from roost.services import workspaces


def test_every_route_is_in_the_golden_table(api: ApiServer) -> None:
    served = {(method, path): (sign.action.value, sign.scope.value) for method, path, sign in routes(api)}
    assert served == {route: (row.action, row.scope) for route, row in ROUTES.items()}


def test_every_route_is_closed_to_those_who_may_not_enter(api: ApiServer) -> None:
    """Each route, with each kind of token: allowed or refused as the golden table says."""
    mine, other = submit(api.context), submit(api.context)
    child = submit(api.context, parent_id=mine.id)
    workspaces.ensure(api.context, ANN, "elsewhere")
    clients = {
        "none": api.stranger,
        "wrong": Client(api.url, "person-token-but-not-quite"),
        "person": api.person,
        "browser": Client(api.url, headers=signed_in(api)),
        "own run": api.run_client(mine.id),
        "run above": api.run_client(mine.id),
        "run below": api.run_client(child.id),
        "other run": api.run_client(other.id),
        "run elsewhere": api.run_client(mine.id),
    }
    for (method, path), row in ROUTES.items():
        if path == "/api/server/shutdown":
            continue  # its own test, below: it ends the server for those who may
        places = {
            "run above": address_of(path, child.id),
            "run elsewhere": address_of(path, other.id, "elsewhere"),
        }
        open_to = _open_to(method, row)
        for name, client in clients.items():
            answer = client.call(method, places.get(name, address_of(path, mine.id)))
            where = (method, path, name, answer)
            if name in open_to:
                assert answer.status < 500, where
                assert answer.status not in (401, 403), where
            else:
                code = "unauthorized" if name in ("none", "wrong") else "forbidden"
                assert (answer.status, answer.error["code"]) == (401 if code == "unauthorized" else 403, code), where


def _open_to(method: str, row: Row) -> set[str]:
    """Which of the clients of the walk may enter."""
    everyone = {"none", "wrong", "person", "browser", "own run", "run above", "run below", "other run", "run elsewhere"}
    if "anyone" in row.roles:
        return everyone
    runs = {
        "server": {"own run", "run above", "run below", "other run", "run elsewhere"},
        "workspace": {"own run", "run above", "run below", "other run"},
        "run": {"own run", "run above"} | ({"run below"} if method == "GET" else set()),
    }[row.scope]
    return (row.roles & {"person", "browser"}) | (runs if "run" in row.roles else set())


def test_a_refusal_names_the_role_and_the_permission(api: ApiServer) -> None:
    run = submit(api.context)
    by_run = api.run_client(run.id).call("DELETE", f"/api/runs/{run.id}").error
    assert by_run["message"] == f"The token of run {run.id} may not do this: it has no permission 'run.delete'."
    assert by_run["hint"] == "Use a person's token."
    by_page = Client(api.url, headers=signed_in(api)).call("DELETE", f"/api/runs/{run.id}").error
    assert by_page["message"] == "A browser's session may not do this: it has no permission 'run.delete'."


def test_whatever_a_run_s_token_asks_says_that_it_lives(api: ApiServer) -> None:
    run = submit(api.context)
    assert api.person.get(f"/api/runs/{run.id}").status == 200
    assert api.context.heard.get(run.id) is None
    assert api.run_client(run.id).post("/api/blobs/missing", {"names": []}).status == 200
    assert api.context.heard.get(run.id) == api.context.clock()


def test_only_a_person_ends_the_server(api: ApiServer) -> None:
    run = submit(api.context)
    assert api.stranger.post("/api/server/shutdown").status == 401
    assert api.run_client(run.id).post("/api/server/shutdown").status == 403
    assert not api.server.should_exit


def test_only_health_and_the_way_in_are_open(api: ApiServer) -> None:
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
    assert {(method, path) for method, path, sign in routes(api) if sign.is_open} == OPEN
    assert {route for route, row in ROUTES.items() if row.roles == {"anyone"}} == OPEN


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic person-token", "person-token"])
def test_headers_that_hold_no_token(api: ApiServer, header: str) -> None:
    answer = api.stranger.get("/api/workspaces", headers={"Authorization": header})
    assert (answer.status, answer.error["code"]) == (401, "unauthorized")


def test_a_route_without_a_sign_cannot_be_served(api: ApiServer) -> None:
    app = create_app(api.context, hosts=frozenset(), stop=lambda: None)
    app.add_api_route("/api/back-door", lambda: None)
    with pytest.raises(RuntimeError, match="back-door does not say who may enter"):
        doors.served(app)


@pytest.mark.parametrize(
    ("path", "action", "scope", "words"),
    [
        ("/api/new", Action.HEALTH_READ, Scope.SERVER, "open routes"),
        ("/api/new", Action.RUN_READ, Scope.RUN, "its path names the scope server"),
        ("/api/new", Action.MODEL_READ, Scope.WORKSPACE, "its path names the scope server"),
        ("/api/new/{run_id}", Action.RUN_READ, Scope.SERVER, "its path names the scope run"),
        ("/api/new/{workspace}", Action.MODEL_READ, Scope.SERVER, "its path names the scope workspace"),
        ("/api/new/{run_id}", Action.RUN_CANCEL, Scope.RUN, "READS"),
    ],
)
def test_facts_of_a_route_that_cannot_be(path: str, action: Action, scope: Scope, words: str) -> None:
    app, router = FastAPI(openapi_url=None), doors.Router("new")
    app.state.error_shapes = ErrorShapes(())
    router.route("GET", path, action, scope)(lambda: None)
    router.mount(app)
    with pytest.raises(RuntimeError, match=words):
        doors.served(app)
