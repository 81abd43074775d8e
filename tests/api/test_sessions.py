"""How a browser is let in: a code that works once, a cookie that no script reads, and what may be done with it."""

import re
from pathlib import Path

import pytest
from tests.api.golden_routes import ROUTES
from tests.shared.api_servers import ApiServer, address, served, signed_in
from tests.shared.clients import Answer
from tests.shared.contexts import ANN, Clock, submission, submit

from roost.domain import codec
from roost.domain.people import TokenKind
from roost.services import people, secrets
from roost.studio import pages

FOR_PAGES = {route for route, row in ROUTES.items() if "browser" in row.roles}
"""The routes that a session may use."""
STANDS_FOR = {
    "address": "runs/r",
    "place": "workspaces/w",
    "one": "workspaces/w/models/m/1",
    "noun": "datasets",  # and datastores
}
"""Variables in the scripts of the pages that are more than one part of an address."""


def code(api: ApiServer) -> str:
    answer = api.person.post("/api/sessions")
    assert answer.status == 201
    assert answer.json["seconds"] == 60
    return str(answer.json["code"])


def log_in(api: ApiServer, run: str = "") -> Answer:
    return api.stranger.get(f"/login?code={code(api)}&run={run}")


def cookie(answer: Answer) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_a_code_becomes_a_cookie_that_only_our_pages_send(api: ApiServer) -> None:
    answer = log_in(api)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    said = answer.headers["set-cookie"]
    assert re.match(r"roost_127_0_0_1_\d+=roost_[\w-]{40,};", said)
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=604800"} <= {part.strip() for part in said.split(";")}
    assert "no-store" in answer.headers["cache-control"]
    assert api.stranger.get("/api/workspaces", headers=cookie(answer)).status == 200


def test_a_code_works_once_and_not_as_anything_else(api: ApiServer) -> None:
    one = code(api)
    assert api.stranger.get("/api/workspaces", headers={"Authorization": f"Bearer {one}"}).status == 401
    first = api.stranger.get(f"/login?code={one}")
    assert "set-cookie" in first.headers
    again = api.stranger.get(f"/login?code={one}")
    assert (again.status, again.headers["location"]) == (303, "/?login=expired")
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("given", ["", "nonsense", "person-token", "%00", "a" * 5000])
def test_codes_that_are_none(api: ApiServer, given: str) -> None:
    answer = api.stranger.get(f"/login?code={given}")
    assert (answer.headers.get("location"), "set-cookie" in answer.headers) == ("/?login=expired", False)


def test_a_run_token_is_neither_code_nor_session(api: ApiServer) -> None:
    run = submit(api.context)
    token = people.mint_run_token(api.context, run.id, user="ann")
    assert "set-cookie" not in api.stranger.get(f"/login?code={token}").headers
    name = cookie(log_in(api))["Cookie"].partition("=")[0]
    for other in (token, "person-token"):
        assert api.stranger.get("/api/workspaces", headers={"Cookie": f"{name}={other}"}).status == 401
    assert api.run_client(run.id).post("/api/sessions").status == 403


def test_a_session_is_no_bearer_token(api: ApiServer) -> None:
    session = cookie(log_in(api))["Cookie"].partition("=")[2]
    assert api.stranger.get("/api/workspaces", headers={"Authorization": f"Bearer {session}"}).status == 401


@pytest.mark.parametrize(
    ("run", "place"),
    [("train_1_ab", "/runs/train_1_ab"), ("//evil.example", "/"), ("../api", "/"), ("a%0d%0aX:1", "/"), ("%20", "/")],
)
def test_where_the_link_leads(api: ApiServer, run: str, place: str) -> None:
    answer = log_in(api, run)
    assert (answer.status, answer.headers["location"]) == (303, place)


def test_a_change_needs_an_origin(api: ApiServer) -> None:
    session = cookie(log_in(api))
    run = submit(api.context)
    path = f"/api/runs/{run.id}/cancel"
    refused = api.stranger.post(path, headers=session)
    assert (refused.status, refused.error["code"]) == (403, "forbidden")
    assert "Origin" in refused.error["message"]
    assert api.stranger.post(path, headers={**session, "Origin": "http://evil.example"}).status == 403
    assert api.stranger.get(f"/api/runs/{run.id}", headers=session).json["status"] == "NotStarted"
    done = api.stranger.post(path, headers={**session, "Origin": api.url})
    assert (done.status, done.json["status"]) == (200, "Canceled")


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)]
)
def test_another_page_of_the_same_machine_gets_nothing(api: ApiServer, site: str, status: int) -> None:
    headers = {**cookie(log_in(api)), "Sec-Fetch-Site": site}
    assert api.stranger.get("/api/workspaces", headers=headers).status == status


def test_a_cookie_counts_only_where_there_is_no_token(api: ApiServer) -> None:
    headers = {**cookie(log_in(api)), "Authorization": "Bearer wrong"}
    assert api.stranger.get("/api/workspaces", headers=headers).status == 401


def test_a_browser_reads_no_secrets(api: ApiServer) -> None:
    secrets.put(api.context, ANN, "vision", {"name": "a-hidden-value"})
    run = submit(api.context)
    session = cookie(log_in(api))
    for path in (f"/api/runs/{run.id}/secrets", "/api/workspaces/vision/secrets"):
        assert api.stranger.get(path, headers=session).json["secrets"][0]["name"] == "name"
        answer = api.stranger.get(f"{path}/values?name=name", headers=session)
        assert answer.status == 403
        assert b"a-hidden-value" not in answer.body
    known = api.run_client(run.id).get(f"/api/runs/{run.id}/secrets/values?name=name&name=other")
    assert (known.json, known.headers["cache-control"]) == (
        {"secrets": {"name": "a-hidden-value", "other": None}},
        "no-store",
    )
    assert api.run_client(run.id).get("/api/workspaces/vision/secrets/values?name=name").status == 403


def test_a_session_does_what_the_table_says_and_nothing_else(api: ApiServer) -> None:
    """Every route of the server, asked with a session and the right Origin."""
    headers = signed_in(api)
    run = submit(api.context)
    for (method, path), row in ROUTES.items():
        answer = api.stranger.call(method, address(path, run.id), headers=headers)
        if row.roles & {"anyone", "browser"}:
            assert answer.status not in (401, 403), (method, path)
        else:
            assert (answer.status, answer.error["code"]) == (403, "forbidden"), (method, path)
            assert "A browser's session may not" in answer.error["message"], (method, path)
    assert not api.server.should_exit


def test_a_session_starts_no_code_and_gets_nothing_that_is_more_than_itself() -> None:
    """The few changes that a page makes, written out here a second time: a new one is a decision (docs/decisions/008)."""
    assert {(method, path) for method, path in FOR_PAGES if method != "GET"} == {
        ("POST", "/api/runs/{run_id}/cancel"),
        ("PATCH", "/api/runs/{run_id}"),
        ("POST", "/api/workspaces/{workspace}/datasets/items"),
    }
    closed = ("values", "keys", "token", "records", "backup", "commands", "agents", "archives", "shutdown")
    assert [path for _, path in FOR_PAGES if path.rpartition("/")[2] in closed] == []


def test_a_session_cannot_submit_a_run_that_prints_the_token(api: ApiServer) -> None:
    headers = {**cookie(log_in(api)), "Origin": api.url}
    wanted = codec.encode(submission(api.context))
    for path in ("/api/workspaces/vision/runs", f"/api/runs/{submit(api.context).id}/children"):
        assert api.stranger.post(path, wanted, headers=headers).status == 403
    settings = {"kind": "folder", "settings": {"path": "/tmp"}}
    assert api.stranger.put("/api/workspaces/vision/datastores/x", settings, headers=headers).status == 403
    assert api.person.post("/api/workspaces/vision/runs", wanted).status == 201


def test_pages_ask_for_nothing_that_a_session_may_not_have() -> None:
    """The addresses in the scripts of the pages, with what stands for a variable as a part of a path."""
    asked = set()
    for script in (Path(pages.__file__).parent / "files").glob("*.js"):
        text = re.sub(r"//.*", "", script.read_text())
        for verb, path in re.findall(r"\b(get|post|patch)\(\s*`([^`?]+)", text):
            asked.add((verb.upper(), path))
    assert len(asked) > 15
    for method, path in asked:
        meant = path
        for name, place in STANDS_FOR.items():
            meant = re.sub(rf"\$\{{(this\.)?{name}\}}", place, meant)
        meant = re.sub(r"\$\{[^{}]*\}", "x", meant)
        shapes = [re.sub(r"\{\w+(:path)?\}", "[^/]+", each) for verb, each in FOR_PAGES if verb == method]
        assert any(re.fullmatch(shape, f"/api/{meant}") for shape in shapes), (method, path)


def test_codes_last_a_minute_and_sessions_a_week(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        clock = api.context.clock
        assert isinstance(clock, Clock)
        late = code(api)
        clock.pass_by(61)
        assert api.stranger.get(f"/login?code={late}").headers["location"] == "/?login=expired"
        session = cookie(log_in(api))
        clock.pass_by(people.SESSION_SECONDS - 1)
        assert api.stranger.get("/api/workspaces", headers=session).status == 200
        clock.pass_by(2)
        assert api.stranger.get("/api/workspaces", headers=session).status == 401
        code(api)
        kept = people.digest(session["Cookie"].partition("=")[2])
        assert api.context.store.people.find_token(kept) is None


def test_only_digests_are_stored(api: ApiServer) -> None:
    one = code(api)
    found = api.context.store.people.find_token(people.digest(one))
    assert found is not None
    assert (found.kind, found.user) == (TokenKind.CODE, "ann")
    assert one not in repr(found)
