"""Runs of several nodes, whole: nodes meet and start together, end together, and keep what each of them made."""

import json
import os
import signal
import time

import psutil
import pytest

from roost.agent.processes import marked
from roost.domain.runs import Reason, RunStatus
from roost.engines.folders import mark_of

pytestmark = pytest.mark.slow

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
    assert plane.read(run, "outputs/mine.txt") == b"of 0"
    assert plane.read(run, "outputs/mine.txt.node1") == b"of 1"
    assert any(line.startswith("[roost]") and "outputs/mine.txt.node1" in line for line in log)
    assert sorted(plane.metrics(run)["loss"]) == [0, 1]
    assert gone(plane, run, 2)
    assert not list((plane.home / "shared").glob(f"{run.id}*"))


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
