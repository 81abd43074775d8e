"""Endpoints over HTTP: what is answered when, who may ask, and no key where none is asked for."""

import threading
from typing import Any

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.contexts import ANN, snapshot, submit

from roost.api import waiting
from roost.api.waiting import LONGEST
from roost.domain.runs import RunEvent, RunStatus
from roost.services import endpoints, replicas

PLACE = "/api/workspaces/vision/endpoints"


def wish(api: ApiServer, **changes: Any) -> dict[str, Any]:
    version = {"snapshot": snapshot(api.context, score="def run(x): return x"), "entry_script": "score.py"}
    return {"spec": {"versions": [version], "auth": "key"}, **changes}


def test_put_looked_at_and_deleted(api: ApiServer) -> None:
    person = api.person
    made = person.put(f"{PLACE}/birds", wish(api))
    assert (made.status, made.json["state"], made.json["revision"]) == (201, "Transitioning", 1)
    assert made.json["port"] > 0
    assert person.put(f"{PLACE}/birds", wish(api)).error["code"] == "endpoint_conflict"
    assert person.put(f"{PLACE}/trees", wish(api, update=True)).error["code"] == "endpoint_not_found"
    assert person.put(f"{PLACE}/birds", wish(api, overwrite=True)).status == 200
    assert "birds" in [each["name"] for each in person.get(PLACE).json["endpoints"]]
    assert person.get(f"{PLACE}/birds/replicas").json == {"replicas": []}
    assert person.get(f"{PLACE}/birds/logs").json == {"text": "", "run_id": "", "note": ""}
    assert person.get(f"{PLACE}/birds/status").json == {"running": False}
    assert person.get(f"{PLACE}/birds/records").json == {"records": []}
    assert person.call("DELETE", f"{PLACE}/birds?wait=0").json == {"gone": False}  # no loop turns here
    assert person.get(f"{PLACE}/birds").error["code"] == "endpoint_not_found"
    assert person.call("DELETE", f"{PLACE}/birds?wait=0").json == {"gone": False}  # asked again, until it is gone
    assert person.call("DELETE", f"{PLACE}/trees").error["code"] == "endpoint_not_found"


def test_who_waits_hears_of_a_change(api: ApiServer) -> None:
    api.person.put(f"{PLACE}/clouds", wish(api))
    heard: list[Any] = []
    waiting = threading.Thread(
        target=lambda: heard.append(api.person.get(f"{PLACE}/clouds?after=1&wait={LONGEST}").json)
    )
    waiting.start()
    api.person.call("POST", f"{PLACE}/clouds/keys", {"which": "Primary"})
    waiting.join(LONGEST)
    assert heard[0]["revision"] == 2


def test_names_that_are_tricks_and_bodies_that_are_none(api: ApiServer) -> None:
    person = api.person
    for name in ("..%2f..%2fx", "%2e%2e", "a%2fb", "a%00b", "UP", "rocks%0a"):
        assert person.put(f"{PLACE}/{name}", wish(api)).status in (400, 404)
        assert person.get(f"{PLACE}/{name}/logs").status in (400, 404)
    for body in (b"", b"[]", b'{"spec": 3}', b'{"spec": {"versions": [{"limits": {"cpu": "x"}}]}}', b"\xff"):
        assert person.put(f"{PLACE}/rocks", body).error["code"] in ("invalid_input", "invalid_endpoint")
    assert person.put(f"{PLACE}/rocks", b" " * 9_000_000).error["code"] == "too_large"
    for query in ("logs?lines=0", "records?limit=0", "logs?replica=nobody"):
        api.person.put(f"{PLACE}/rocks", wish(api, overwrite=True))
        assert person.get(f"{PLACE}/rocks/{query}").status in (400, 404)


def test_keys_are_in_no_answer_but_that_of_their_own_route(api: ApiServer) -> None:
    person = api.person
    person.put(f"{PLACE}/lakes", wish(api))
    answer = person.get(f"{PLACE}/lakes/keys")
    assert answer.headers["cache-control"] == "no-store"
    for key in answer.json.values():
        for path in ("", "/lakes", "/lakes/replicas", "/lakes/status", "/lakes/logs"):
            assert key.encode() not in person.get(PLACE + path).body
    assert person.call("POST", f"{PLACE}/lakes/token").error["code"] == "invalid_endpoint"
    assert person.call("POST", f"{PLACE}/lakes/keys", {"which": "Third"}).error["code"] == "invalid_input"


def test_the_token_of_a_run_deploys_nothing_and_reads_no_key(api: ApiServer) -> None:
    api.person.put(f"{PLACE}/hills", wish(api))
    run = api.run_client(submit(api.context).id)
    for method, path in (("PUT", "/trees"), ("GET", "/hills"), ("GET", "/hills/keys"), ("DELETE", "/hills")):
        assert run.call(method, PLACE + path, wish(api)).status == 403
        assert api.stranger.call(method, PLACE + path, wish(api)).status == 401


def serving(api: ApiServer, name: str) -> str:
    """The run of a replica that goes on, of an endpoint of that name."""
    api.person.put(f"{PLACE}/{name}", wish(api))
    endpoint = endpoints.get(api.context, ANN, "vision", name)
    run_id = replicas.begin(api.context, endpoint, endpoint.spec.versions[0]).run_id
    for to in (RunStatus.QUEUED, RunStatus.PROVISIONING, RunStatus.RUNNING):
        api.context.store.runs.apply(run_id, RunEvent(to=to, at=1.0))
    return run_id


def test_who_reads_a_log_waits_for_what_the_agent_has_not_sent_yet(api: ApiServer) -> None:
    run_id = serving(api, "rivers")
    agent, place = api.run_client(run_id), f"/api/runs/{run_id}"
    read: list[Any] = []
    reader = threading.Thread(target=lambda: read.append(api.person.get(f"{PLACE}/rivers/logs").json))
    assert "flush" not in agent.post(f"{place}/heartbeat?flushed=").json
    reader.start()
    revision = api.context.store.runs.get(run_id).revision
    mark = agent.post(f"{place}/heartbeat?after={revision}&wait=20&flushed=").json["flush"]
    assert "flush" not in agent.post(f"{place}/heartbeat").json  # an agent that does not know of it is left alone
    agent.post(f"{place}/streams/user_logs/std_log.txt?offset=0", b"the last line\n")
    assert "flush" not in agent.post(f"{place}/heartbeat?flushed={mark}").json
    reader.join(20)
    assert read == [{"text": "the last line\n", "run_id": run_id, "note": ""}]


def test_an_agent_that_does_not_answer_keeps_nobody_from_the_log(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "FLUSH_SECONDS", 0.05)
    run_id = serving(api, "lochs")
    api.run_client(run_id).post(f"/api/runs/{run_id}/streams/user_logs/std_log.txt?offset=0", b"so far\n")
    assert api.person.get(f"{PLACE}/lochs/logs").json == {"text": "so far\n", "run_id": run_id, "note": ""}
    assert api.context.flushes.wanted(run_id) == ""
