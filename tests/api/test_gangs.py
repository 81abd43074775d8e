"""The agents of a run over HTTP: they meet, tell how they are, and have commands executed on each other's nodes."""

import threading

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

from roost.domain.runs import Reason, Run, RunEvent, RunStatus
from roost.services import gangs, runs


def begin(api: ApiServer) -> Run:
    """A run that has two nodes, alone."""
    run = submit(api.context, node_count=2)
    runs.move(api.context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    given = RunEvent(to=RunStatus.PROVISIONING, at=api.context.clock(), reason=Reason.NODE_GIVEN)
    claimed = api.context.store.runs.claim("local", 4, event=lambda _: given)
    assert claimed is not None
    assert claimed.id == run.id
    return claimed


def end(api: ApiServer, run: Run) -> None:
    for rank in (0, 1):
        gangs.conclude(api.context, run.id, rank, gangs.MemberReport(to=RunStatus.COMPLETED, reason=Reason.DONE))


def test_who_comes_first_waits_until_all_are_there(api: ApiServer) -> None:
    run = begin(api)
    agent, place = api.run_client(run.id), f"/api/runs/{run.id}/agents"
    assert agent.post(f"{place}/0/meet", {"ports": [20001]}).json["met"] is False
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(agent.post(f"{place}/0/meet?wait=30", {"ports": [20001]})))
    waiting.start()
    assert agent.post(f"{place}/1/meet", {"ports": [20002, 20003]}).json["met"] is True
    waiting.join(20)
    assert answers[0].json["met"] is True
    assert [member["ports"] for member in answers[0].json["members"]] == [[20001], [20002, 20003]]
    assert agent.get(place).json == answers[0].json
    end(api, run)


def test_a_failure_is_heard_in_the_heartbeat_of_the_others(api: ApiServer) -> None:
    run = begin(api)
    agent, place = api.run_client(run.id), f"/api/runs/{run.id}/agents"
    revision = agent.post(f"{place}/1/heartbeat?attempt=1", {}).json["revision"]
    answers = []
    beat = f"{place}/1/heartbeat?attempt=1&after={revision}&wait=20"
    waiting = threading.Thread(target=lambda: answers.append(agent.post(beat, {})))
    waiting.start()
    said = {"to": "Failed", "reason": "prepare_failed", "message": "It has no disk.", "attempt": 1}
    assert agent.post(f"{place}/0/events", said).json["ending"] == "node_failed"
    waiting.join(20)
    assert answers[0].json["ending"] == "node_failed"
    assert answers[0].json["message"] == "On node 0 (local-0): It has no disk."
    assert agent.post(f"{place}/1/meet", {"ports": [20000]}).json["met"] is False
    end(api, run)


def test_what_is_said_is_checked(api: ApiServer) -> None:
    run = begin(api)
    agent, place = api.run_client(run.id), f"/api/runs/{run.id}/agents"
    assert agent.post(f"{place}/0/events", {"to": "Failed", "exit_code": 2**40}).error["code"] == "invalid_input"
    assert agent.post(f"{place}/0/events", {"to": "Queued"}).status == 409
    assert agent.post(f"{place}/2/meet", {"ports": [1]}).error["message"] == f"Run {run.id} has no node 2 now."
    assert agent.post(f"{place}/0/meet", {"ports": [0]}).status == 400
    assert agent.post(f"{place}/1/commands", {"argv": []}).status == 400
    other = api.run_client(submit(api.context).id)
    assert other.get(place).status in (403, 404), "the token of another run opens nothing"
    end(api, run)


def test_a_command_reaches_its_node_once_and_its_exit_code_comes_back(api: ApiServer) -> None:
    run = begin(api)
    agent, place = api.run_client(run.id), f"/api/runs/{run.id}"
    order = {"argv": ["orted"], "key": "k1", "attempt": 1}
    sent = [agent.post(f"{place}/agents/1/commands", order) for _ in range(2)]
    number = sent[0].json["number"]
    assert [answer.status for answer in sent] == [201, 201]
    assert sent[1].json["number"] == number
    assert agent.get(f"{place}/agents/0/commands").json["commands"] == []
    (heard,) = agent.get(f"{place}/agents/1/commands?wait=5").json["commands"]
    assert (heard["number"], heard["argv"], heard["exit_code"]) == (number, ["orted"], None)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(agent.get(f"{place}/commands/{number}?wait=30")))
    waiting.start()
    agent.post(f"{place}/commands/{number}", {"exit_code": 3, "attempt": 1})
    waiting.join(20)
    assert answers[0].json["commands"][0]["exit_code"] == 3
    end(api, run)
    late = agent.post(f"{place}/agents/1/commands", {"argv": ["orted"]})
    assert late.status in (401, 403, 409), "the run is over"
