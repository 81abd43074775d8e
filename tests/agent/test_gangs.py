"""Runs of several nodes, whole: nodes meet and start together, end together, and keep what each of them made."""

import itertools
import json
import os
import signal
import time

import psutil
import pytest
from tests.contracts.engine import eventually

from roost.agent.processes import marked
from roost.domain.errors import InvalidCompute
from roost.domain.runs import Reason, RunStatus
from roost.engines.folders import mark_of

pytestmark = pytest.mark.slow
ROUNDS = 50

HELLO = """
import os
from azureml.core import Run

run, rank = Run.get_context(), int(os.environ["ROOST_RANK"])
print("hello from", rank, os.environ["ROOST_NODE"], os.environ["ROOST_NODE_ADDRESS"])
run.log("loss", rank)
os.makedirs("outputs", exist_ok=True)
open("outputs/same.txt", "w").write("alike")
open("outputs/mine.txt", "w").write("of %d" % rank)
open("outputs/only_%d.txt" % rank, "w").write("x")
print("no line break at the end", end="")
"""

WAITING = """
import os, time
print("begun", flush=True)
if os.environ["ROOST_RANK"] == "{rank}":
    {deed}
time.sleep(600)
"""


def gone(plane, run, nodes):
    """That no process of the run is left on any of its nodes."""
    seats = [run.id] + [f"{run.id}+{rank}" for rank in range(1, nodes)]
    return not any(marked(mark_of(plane.home, seat)) for seat in seats)


def begun(plane, run, nodes):
    """Waits until all ranks have said that they have begun."""
    deadline = time.monotonic() + 60
    while not all(plane.says(run, f"[{rank}] begun") for rank in range(nodes)):
        assert time.monotonic() < deadline, plane.get(run)
        plane.client.call("GET", f"/api/runs/{run.id}", params={"after": 10**6, "wait": 0.2})


def test_two_nodes_start_together_and_all_that_they_make_is_kept(plane):
    run = plane.wait(plane.submit({"train.py": HELLO}, node_count=2))
    assert (run.status, run.exit_code) == (RunStatus.COMPLETED, 0), run.message
    log = plane.log(run).splitlines()
    assert sorted(line.split(" 127.")[0] for line in log if "hello" in line) == [
        "[0] hello from 0 local-0",
        "[1] hello from 1 local-1",
    ]
    assert "[0] no line break at the end" in log
    assert "[1] no line break at the end" in log
    assert plane.read(run, "azureml-logs/70_driver_log.txt").decode().splitlines() == log
    assert plane.read(run, "user_logs/std_log_process_1.txt").decode().startswith("hello from 1 local-1")
    names = plane.names(run)
    assert {"outputs/only_0.txt", "outputs/only_1.txt", "outputs/same.txt", "system_logs/agent_1.log"} <= set(names)
    assert "outputs/same.txt.node1" not in names
    assert plane.read(run, "outputs/mine.txt") in (b"of 0", b"of 1"), "the nodes of one machine have one folder"
    assert not [name for name in names if ".node1" in name]
    assert sorted(plane.metrics(run)["loss"]) == [0, 1]
    assert gone(plane, run, 2)
    eventually(lambda: not list((plane.home / "shared").glob(f"{run.id}*")))


def test_a_rank_that_fails_ends_the_others_and_is_named(plane):
    script = WAITING.format(rank=1, deed="raise ValueError('boom')")
    run = plane.wait(plane.submit({"train.py": script}, node_count=3))
    assert (run.status, run.reason, run.exit_code) == (RunStatus.FAILED, Reason.EXIT_CODE, 1)
    assert run.message.startswith("On node 1 (local-1): Rank 1 ended with exit code 1.")
    assert "ValueError: boom" in run.message
    assert "It was ended on node 0 (local-0), node 2 (local-2) too." in run.message
    assert all(f"user_logs/std_log_process_{rank}.txt" in plane.names(run) for rank in range(3))
    assert gone(plane, run, 3)


def test_a_rank_that_is_killed_ends_the_others(plane):
    script = WAITING.format(rank=0, deed="os.kill(os.getpid(), 9)")
    run = plane.wait(plane.submit({"train.py": script}, node_count=2), seconds=30)
    assert (run.status, run.exit_code) == (RunStatus.FAILED, -9)
    assert "Rank 0 was ended by SIGKILL" in run.message
    assert gone(plane, run, 2)


def test_a_cancel_ends_all_nodes(plane):
    run = plane.submit({"train.py": WAITING.format(rank=9, deed="pass")}, node_count=2)
    begun(plane, run, 2)
    plane.cancel(run)
    run = plane.wait(run, seconds=30)
    assert run.status is RunStatus.CANCELED
    assert gone(plane, run, 2)
    assert plane.log(run).count("begun") == 2


def test_a_rank_that_hangs_past_the_limit_ends_the_run(plane):
    run = plane.submit({"train.py": WAITING.format(rank=0, deed="raise SystemExit")}, node_count=2, timeout_seconds=3)
    run = plane.wait(run, seconds=35)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.TIMED_OUT)
    assert "On node 1 (local-1): The script ran longer than its limit of 3 s" in run.message
    assert gone(plane, run, 2)


def agent_of(plane, run, rank):
    seat = run.id if not rank else f"{run.id}+{rank}"
    return json.loads((plane.home / "runs" / seat / "agent.json").read_text())["pid"]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_agent_that_is_killed_ends_the_run_and_its_log_is_kept(plane, rank):
    run = plane.submit({"train.py": WAITING.format(rank=9, deed="pass")}, node_count=2)
    begun(plane, run, 2)
    os.kill(agent_of(plane, run, rank), signal.SIGKILL)
    run = plane.wait(run, seconds=30)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert f"On node {rank} (local-{rank}): " in run.message
    assert gone(plane, run, 2)
    assert plane.log(run).count("begun") == 2


def test_agent_and_keeper_that_are_killed_end_the_run(plane):
    run = plane.submit({"train.py": WAITING.format(rank=9, deed="pass")}, node_count=2)
    begun(plane, run, 2)
    agent = psutil.Process(agent_of(plane, run, 1))
    keeper = agent.parent()
    keeper.kill()
    agent.kill()
    run = plane.wait(run, seconds=30)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert "On node 1 (local-1): " in run.message
    assert gone(plane, run, 2)
    assert plane.log(run).count("begun") == 2


CHECKPOINTING = """
import os, sys, time
rank, attempt = os.environ["ROOST_RANK"], os.environ["ROOST_ATTEMPT"]
place = "outputs/step.txt" if sys.argv[1] == "alone" else "outputs/step_of_%s.txt" % rank
step = int(open(place).read()) if os.path.exists(place) else 0
print("attempt", attempt, "goes on from", step, flush=True)
for step in range(step + 1, 6):
    with open(place + ".part", "w") as file:
        file.write(str(step))
    os.replace(place + ".part", place)
    with open("outputs/mine.txt", "w") as file:
        file.write("rank %s step %d" % (rank, step))
    print("begun", flush=True)
    if step == 3 and attempt == "1":
        time.sleep(600)
"""


def cluster(plane, name, nodes, priority="lowpriority"):
    spec = {"max_nodes": nodes, "idle_seconds": 600, "priority": priority}
    plane.client.call("PUT", f"/api/workspaces/default/computes/{name}", json=spec)
    return f"/api/workspaces/default/computes/{name}"


def node_of(plane, route, run):
    status = plane.client.call("GET", route)
    return [node["id"] for node in status["nodes"] if node["run_id"] == run.id][-1]


def test_a_run_that_loses_its_node_goes_on_from_its_checkpoint(plane):
    route = cluster(plane, "low", 1)
    run = plane.submit({"train.py": CHECKPOINTING}, target="low", arguments=("alone",))
    deadline = time.monotonic() + 60
    while not (plane.says(run, "begun") and plane.log(run).count("begun") == 3):
        assert time.monotonic() < deadline, plane.get(run)
        plane.client.call("GET", f"/api/runs/{run.id}", params={"after": 10**6, "wait": 0.2})
    lost = node_of(plane, route, run)
    assert plane.client.call("POST", f"{route}/nodes/{lost}/preempt")["state"] == "preempted"
    run = plane.wait(run)
    assert (run.status, run.attempt, run.exit_code) == (RunStatus.COMPLETED, 2, 0), run.message
    assert plane.log(run).splitlines() == ["attempt 2 goes on from 3", "begun", "begun"]
    assert plane.read(run, "user_logs/attempt_1/std_log.txt").decode().startswith("attempt 1 goes on from 0")
    assert plane.read(run, "outputs/step.txt") == b"5"
    events = plane.client.call("GET", f"/api/runs/{run.id}/events")["events"]
    assert [event["to"] for event in events if event["reason"] == "preempted"] == ["Running", "Queued"]


WAITS_FOR_OTHERS = """
import os, shutil, time
rank = int(os.environ["ROOST_RANK"])
print("stale:", open("outputs/stale.txt").read(), flush=True)
for top in ("outputs", "logs"):
    os.makedirs(top, exist_ok=True)
    with open("%s/%d.txt" % (top, rank), "w") as file:
        file.write("of %d" % rank)
    while not os.path.exists("%s/%d.txt" % (top, 1 - rank)):
        time.sleep(0.05)
with open("logs/both.txt", "a") as file:
    file.write("line of %d\\n" % rank)
if rank == 0:
    os.remove("outputs/1.txt")
    open("outputs/removed", "w").close()
while not os.path.exists("outputs/removed"):
    time.sleep(0.05)
if rank == 1:
    time.sleep(1)
    open("outputs/late.txt", "w").write("after the other node had ended")
"""


def test_nodes_of_one_machine_share_outputs_and_logs(plane):
    files = {"train.py": WAITS_FOR_OTHERS, "outputs/stale.txt": "from the snapshot"}
    run = plane.wait(plane.submit(files, node_count=2), seconds=60)
    assert run.status is RunStatus.COMPLETED, run.message
    names = [name for name in plane.names(run) if name.startswith(("outputs/", "logs/"))]
    assert names == [
        "logs/0.txt",
        "logs/1.txt",
        "logs/both.txt",
        "outputs/0.txt",
        "outputs/late.txt",
        "outputs/removed",
    ]
    assert sorted(plane.read(run, "logs/both.txt").splitlines()) == [b"line of 0", b"line of 1"]
    assert plane.log(run).count("stale: from the snapshot") == 2
    assert plane.read(run, "outputs/late.txt") == b"after the other node had ended"
    eventually(lambda: not list((plane.home / "shared").glob(f"{run.id}*")))


def test_a_gang_that_loses_a_node_goes_on_with_the_files_of_each_node(plane):
    route = cluster(plane, "lows", 3)
    run = plane.submit({"train.py": CHECKPOINTING}, target="lows", node_count=2, arguments=("together",))
    deadline = time.monotonic() + 60
    while not (plane.says(run, "begun") and plane.log(run).count("begun") == 6):
        assert time.monotonic() < deadline, plane.get(run)
        plane.client.call("GET", f"/api/runs/{run.id}", params={"after": 10**6, "wait": 0.2})
    plane.client.call("POST", f"{route}/nodes/{node_of(plane, route, run)}/preempt")
    run = plane.wait(run)
    assert (run.status, run.attempt) == (RunStatus.COMPLETED, 2), run.message
    log = plane.log(run).splitlines()
    assert {"[0] attempt 2 goes on from 3", "[1] attempt 2 goes on from 3"} <= set(log)
    assert sum("begun" in line for line in log) == 4
    before = plane.read(run, "user_logs/attempt_1/std_log.txt").decode()
    assert before.count("begun") == 6
    assert plane.read(run, "user_logs/attempt_1/std_log_process_1.txt").decode().count("begun") == 3
    assert plane.read(run, "outputs/mine.txt") in (b"rank 0 step 5", b"rank 1 step 5")
    assert [plane.read(run, f"outputs/step_of_{rank}.txt") for rank in (0, 1)] == [b"5", b"5"]
    names = [name for name in plane.names(run) if name.startswith("outputs/")]
    assert names == ["outputs/mine.txt", "outputs/step_of_0.txt", "outputs/step_of_1.txt"]


def test_nodes_that_are_dedicated_are_not_taken_away(plane):
    route = cluster(plane, "own", 1, priority="dedicated")
    with pytest.raises(InvalidCompute, match="are dedicated"):
        plane.client.call("POST", f"{route}/nodes/own-1/preempt")


def test_two_gangs_of_three_on_four_nodes_fifty_times_over(plane):
    cluster(plane, "four", 4)
    queue = [plane.submit({"train.py": "print('in')"}, target="four", node_count=3) for _ in range(ROUNDS)]
    ended = [plane.wait(run, seconds=300) for run in queue]
    assert [run.status for run in ended] == [RunStatus.COMPLETED] * ROUNDS
    starts = [run.started_at for run in ended]
    assert starts == sorted(starts)
    assert all(later.started_at >= before.ended_at for before, later in itertools.pairwise(ended))


def test_commands_reach_other_nodes_and_their_exit_code_comes_back(plane):
    script = """
import json, os, socket, time
if os.environ["ROOST_RANK"] == "0":
    door = socket.socket(socket.AF_UNIX)
    door.connect(os.environ["ROOST_DOOR"])
    lines = door.makefile("rwb")
    for node, code in (("local-1", 3), (os.environ["ROOST_NODE_ADDRESS"], 0), ("nowhere", 0)):
        argv = ["bash", "-c", "echo node $ROOST_NODE_RANK was asked; exit %d" % code]
        lines.write(json.dumps({"op": "exec", "node": node, "argv": argv}).encode() + b"\\n")
        lines.flush()
        print(node[:5], lines.readline().decode().strip(), flush=True)
    open(os.environ["ROOST_SHARED"] + "/done", "w").close()
while not os.path.exists(os.environ["ROOST_SHARED"] + "/done"):
    time.sleep(0.05)
"""
    run = plane.submit({"train.py": script}, node_count=2, launch="single")
    run = plane.wait(run)
    assert run.status is RunStatus.COMPLETED, run.message
    log = plane.log(run)
    assert '[0] local {"ok": {"exit_code": 3}}' in log
    assert '[0] 127.0 {"ok": {"exit_code": 0}}' in log
    assert "The run has no node 'nowhere'" in log
    assert "[node 1] node 1 was asked" in log
    assert "[node 0] node 0 was asked" in log


def test_a_control_plane_that_is_killed_finds_its_gang_again(own_plane):
    script = """
import os, sys, time
print("begun", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print("done")
"""
    gate = own_plane.home / "go"
    run = own_plane.submit({"train.py": script}, node_count=2, arguments=(str(gate),))
    begun(own_plane, run, 2)
    own_plane.kill()
    own_plane.start()
    gate.touch()
    run = own_plane.wait(run)
    assert run.status is RunStatus.COMPLETED, run.message
    assert sorted(own_plane.log(run).splitlines()) == ["[0] begun", "[0] done", "[1] begun", "[1] done"]


def test_a_node_that_vanishes_without_a_word_costs_no_more_than_an_attempt(plane):
    route = cluster(plane, "gone", 3)
    run = plane.submit({"train.py": CHECKPOINTING}, target="gone", node_count=2, arguments=("together",))
    deadline = time.monotonic() + 60
    while not (plane.says(run, "begun") and plane.log(run).count("begun") == 6):
        assert time.monotonic() < deadline, plane.get(run)
        plane.client.call("GET", f"/api/runs/{run.id}", params={"after": 10**6, "wait": 0.2})
    agent = psutil.Process(agent_of(plane, run, 1))
    keeper = agent.parent()
    keeper.suspend()
    agent.suspend()
    plane.client.call("POST", f"{route}/nodes/{node_of(plane, route, run)}/preempt")
    keeper.kill()
    agent.kill()
    run = plane.wait(run, seconds=45)
    assert (run.status, run.attempt) == (RunStatus.COMPLETED, 2), run.message
    assert "[1] attempt 2 goes on from 3" in plane.log(run)
