"""Runs over HTTP: submitted, listed, waited for, reported on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import ANN, submission, submit, submit_interactive

from roost.domain.codec import decode, encode
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import runs
from roost.services.signals import run_topic


def _until_waiting(api: ApiServer, run_id: str, count: int) -> None:
    """Polls are sent in threads; this is the moment when all of them wait."""
    deadline = time.monotonic() + 30
    while api.context.signals.waiting(run_topic(run_id)) < count:
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def test_submitted_twice(api: ApiServer) -> None:
    body = encode(submission(api.context, tags={"a": None, "b": "1"}))
    first = api.person.post("/api/workspaces/vision/runs", body)
    again = api.person.post("/api/workspaces/vision/runs", body)
    assert (first.status, again.status) == (201, 200)
    run = decode(Run, first.json)
    assert decode(Run, again.json) == run == runs.get(api.context, ANN, body["id"])
    body["experiment"] = "other"
    changed = api.person.post("/api/workspaces/vision/runs", body)
    assert (changed.status, changed.error["code"]) == (409, "conflict")


def test_listing_by_what_is_asked(api: ApiServer) -> None:
    made = [submit(api.context, experiment="listing", tags={"n": str(n), "all": None}) for n in range(3)]
    path = "/api/workspaces/vision/runs?experiment=listing"

    def found(query: str) -> list[str]:
        return [run["id"] for run in api.person.get(path + query).json["runs"]]

    newest_first = [run.id for run in reversed(made)]
    assert found("") == newest_first
    assert found("&tag=all") == newest_first
    assert found("&tag=all&tag=n%3D1") == [made[1].id]
    assert found("&status=NotStarted&status=Queued&limit=1") == [made[2].id]
    assert found("&status=Running") == []
    assert found(f"&before={made[1].id}") == [made[0].id]


def test_events_and_why(api: ApiServer) -> None:
    run = submit(api.context)
    runs.move(api.context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "Waits.")
    story = api.person.get(f"/api/runs/{run.id}/events").json
    assert [event["to"] for event in story["events"]] == ["NotStarted", "Queued"]
    assert "local" in story["why"]


def test_a_report_needs_no_time_and_cannot_set_one(api: ApiServer) -> None:
    run = submit_interactive(api.context)
    own = api.run_client(run.id)
    path = f"/api/runs/{run.id}/events"
    now = own.post(path, {"to": "Running", "reason": "logging", "at": 1.0, "handle": "mine"}).json
    assert (now["status"], now["reason"], now["started_at"], now["handle"]) == (
        "Running",
        "logging",
        api.context.clock(),
        "",
    )
    assert own.post(path, {"to": "Queued"}).error["code"] == "conflict"
    ended = own.post(path, {"to": "Failed", "exit_code": -9, "message": "killed"}).json
    assert (ended["exit_code"], ended["message"]) == (-9, "killed")


def test_labels_over_the_wire(api: ApiServer) -> None:
    run = submit(api.context)
    path = f"/api/runs/{run.id}"
    changed = api.person.call("PATCH", path, {"tags": {"a": "1"}, "display_name": "first"}).json
    assert (changed["tags"], changed["display_name"]) == ({"a": "1"}, "first")
    assert api.person.call("PATCH", path, {"description": "in words"}).json["description"] == "in words"
    same = api.person.call("PATCH", path, {"remove_tags": ["a"]}).json
    assert (same["tags"], same["display_name"]) == ({}, "first")


def test_a_poll_returns_at_once_when_there_is_news(api: ApiServer) -> None:
    run = submit(api.context)
    assert api.person.get(f"/api/runs/{run.id}?after=0&wait=30").json["revision"] == 1
    assert api.person.get(f"/api/runs/{run.id}?after=1&wait=0.01").json["revision"] == 1


def test_fifty_polls_wake_together(api: ApiServer) -> None:
    run = submit(api.context)
    path = f"/api/runs/{run.id}?after={run.revision}&wait=30"
    with ThreadPoolExecutor(50) as pool:
        polls = [pool.submit(api.person.get, path) for _ in range(50)]
        _until_waiting(api, run.id, 50)
        assert api.person.get("/api/workspaces").status == 200, "waiting polls hold nothing that others need"
        began = time.monotonic()
        runs.move(api.context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
        statuses = {poll.result().json["status"] for poll in polls}
        assert time.monotonic() - began < 20, "woken, not timed out"
    assert statuses == {"Queued"}


def test_a_heartbeat_brings_a_cancel(api: ApiServer) -> None:
    run = submit(api.context)
    for status in (RunStatus.QUEUED, RunStatus.PROVISIONING):
        runs.move(api.context, run.id, status, Reason.NONE, "")
    own = api.run_client(run.id)
    revision = own.post(f"/api/runs/{run.id}/heartbeat").json["revision"]
    assert runs.get(api.context, ANN, run.id).heard_at == api.context.clock()
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(own.post, f"/api/runs/{run.id}/heartbeat?after={revision}&wait=30")
        _until_waiting(api, run.id, 1)
        assert api.person.post(f"/api/runs/{run.id}/cancel").json["status"] == "CancelRequested"
        assert poll.result().json["status"] == "CancelRequested"


def test_a_poll_of_a_run_that_is_not_there(api: ApiServer) -> None:
    assert api.person.get("/api/runs/train_1_ffffffff?after=1&wait=30").status == 404
    assert api.person.post("/api/runs/train_1_ffffffff/heartbeat?after=1&wait=30").status == 404


def test_sorted_by_what_was_given_and_logged(api: ApiServer) -> None:
    for rate in ("0.3", "0.1", "0.2"):
        submit(api.context, experiment="sorted", arguments=("--lr", rate))
    path = "/api/workspaces/vision/runs"
    found = api.person.get(f"{path}?experiment=sorted&sort=-params.lr&limit=2&metric=*").json
    assert [run["spec"]["arguments"][1] for run in found["runs"]] == ["0.3", "0.2"]
    assert found["metrics"] == {}
    rest = api.person.get(f"{path}?experiment=sorted&sort=-params.lr&limit=2&skip=2").json
    assert [run["spec"]["arguments"][1] for run in rest["runs"]] == ["0.1"]
    there = api.person.get(f"{path}/columns?experiment=sorted").json
    assert there == {"params": ["lr"], "metrics": [], "tags": []}
    assert api.person.get(f"{path}?sort=nonsense").error["code"] == "invalid_input"
