"""The shape of every error, pinned: `{"error": {"code", "message", "hint"}}`, at most with a `cli_hint`, whatever went wrong."""

import json

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.clients import Answer
from tests.shared.contexts import submission, submit

from roost.api import server as server_routes
from roost.domain.codec import encode

MEGABYTE = 1024 * 1024


def _submit(api: ApiServer, body: object) -> Answer:
    return api.person.post("/api/workspaces/vision/runs", body)


def test_unknown_routes_and_methods(api: ApiServer) -> None:
    for method, path, status in (
        ("GET", "/api/nothing", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/api/health/", 404),
        ("DELETE", "/api/health", 405),
        ("POST", "/api/health", 405),
    ):
        answer = api.person.call(method, path)
        assert answer.status == status
        assert answer.error["code"] == "not_found"
        assert f"{method} {path}" in answer.error["message"]


def test_what_is_not_there(api: ApiServer) -> None:
    answer = api.person.get("/api/runs/train_1_ffffffff")
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert "train_1_ffffffff" in answer.error["message"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"text"', b"{}", b'{"id": NaN}', b"\xff\xfe", b"[" * 100_000])
def test_bodies_that_are_no_submission(api: ApiServer, body: bytes) -> None:
    answer = _submit(api, body)
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 7),
        ("tags", ["a"]),
        ("tags", {"a": 1}),
        ("spec", "text"),
        ("spec.arguments", "text"),
        ("spec.arguments", [1]),
        ("spec.timeout_seconds", "soon"),
        ("spec.kind", "magic"),
        ("spec.environment_variables", {"A": 1}),
        ("spec.node_count", 1.5),
        ("spec.node_count", True),
    ],
)
def test_wrong_types_name_the_field(api: ApiServer, field: str, value: object) -> None:
    body = encode(submission(api.context))
    at = body
    *outer, last = field.split(".")
    for part in outer:
        at = at[part]
    at[last] = value
    answer = _submit(api, body)
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")
    assert last in answer.error["message"]


@pytest.mark.parametrize(
    ("query", "status", "code", "named"),
    [
        ("status=Sleeping", 400, "invalid_input", "status"),
        ("limit=many", 400, "invalid_input", "limit"),
        ("limit=0", 400, "invalid_input", "limit"),
        ("kind=magic", 400, "invalid_input", "kind"),
        ("include_children=perhaps", 400, "invalid_input", "include_children"),
        ("before=train_1_ffffffff", 404, "not_found", "train_1_ffffffff"),
    ],
)
def test_wrong_queries(api: ApiServer, query: str, status: int, code: str, named: str) -> None:
    answer = api.person.get(f"/api/workspaces/vision/runs?{query}")
    assert (answer.status, answer.error["code"]) == (status, code)
    assert named in answer.error["message"]


@pytest.mark.parametrize("query", ["wait=-1", "wait=nan", "wait=x", "after=x"])
def test_wrong_waits(api: ApiServer, query: str) -> None:
    run = submit(api.context)
    answer = api.person.get(f"/api/runs/{run.id}?{query}")
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")


def test_unknown_target(api: ApiServer) -> None:
    answer = _submit(api, encode(submission(api.context, target="gpu")))
    assert (answer.status, answer.error["code"]) == (404, "compute_not_found")
    assert answer.error["message"].startswith("ComputeTargetNotFound")
    assert "local" in answer.error["hint"]


def test_bodies_over_the_limit(api: ApiServer) -> None:
    run = submit(api.context)
    large = b" " * (8 * MEGABYTE + 1)
    for path, body in (
        ("/api/workspaces/vision/runs", large),
        ("/api/blobs/missing", large),
        (f"/api/runs/{run.id}/spools/s?offset=0", b"x" * (16 * MEGABYTE + 1)),
    ):
        try:
            answer = api.person.post(path, body)
        except (BrokenPipeError, ConnectionResetError):
            continue  # the server hung up while we were still sending, which is its right
        assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_body_without_a_length_is_limited_as_well(api: ApiServer) -> None:
    chunked = {"Transfer-Encoding": "chunked"}
    piece = b"%x\r\n" % MEGABYTE + b" " * MEGABYTE + b"\r\n"
    try:
        answer = api.person.post("/api/blobs/missing", piece * 9 + b"0\r\n\r\n", headers=chunked)
    except (BrokenPipeError, ConnectionResetError):
        return
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_what_nobody_foresaw_is_not_shown(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("the secret of the context")

    monkeypatch.setattr(server_routes.runs, "active", fail)
    answer = api.person.get("/api/server")
    assert (answer.status, answer.error["code"]) == (500, "error")
    assert "secret" not in json.dumps(answer.json)
    assert "the secret of the context" in caplog.text, "the log has it, with its traceback"


def test_a_full_disk_is_said(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(server_routes.runs, "active", fail)
    answer = api.person.get("/api/server")
    assert (answer.status, answer.error["code"]) == (507, "disk_full")


def test_values_that_no_row_can_hold(api: ApiServer) -> None:
    run = submit(api.context)
    path, huge = f"/api/runs/{run.id}", 10**30
    file = {"path": "outputs/a", "blob": api.context.blobs.put(b"x"), "size": 1}
    for method, address, body in (
        ("PATCH", path, b'{"tags": {"a": "\\ud800"}}'),
        ("PATCH", path, b'{"tags": {"\\uDFFF": "a"}}'),
        ("POST", f"{path}/events", {"to": "Failed", "exit_code": huge}),
        ("GET", f"{path}/streams/logs/a?offset={huge}", None),
        ("POST", f"{path}/streams/logs/a?offset={huge}", b"x"),
        ("POST", f"{path}/spools/s?offset={huge}", b"x"),
        ("PUT", f"{path}/files", json.dumps({"files": [file | {"modified_at": 0}]}).replace("0}", "1e999}").encode()),
        ("GET", f"{path}/metrics/points?name=a&buckets=-{huge}", None),
        ("GET", f"{path}?after={huge}&wait=0", None),
    ):
        answer = api.person.call(method, address, body)
        assert (answer.status, answer.error["code"]) == (400, "invalid_input"), (method, address, answer)
    assert api.person.get(f"{path}/metrics/points?name=a&buckets={2**63 - 1}").status == 200
    paired = api.person.call("PATCH", path, b'{"tags": {"a": "\\ud83d\\ude00"}}')
    assert paired.json["tags"] == {"a": "\N{GRINNING FACE}"}
