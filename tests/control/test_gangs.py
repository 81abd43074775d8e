"""Gangs through the control plane, step by step: agents started for each node, watched, given up; the run ends when all have."""

from dataclasses import replace

import pytest
from tests.control.engines import ScriptedEngine
from tests.control.test_runs import Plane
from tests.shared.contexts import ANN, EMBEDDED, Clock, submit

from roost.control.gangs import JOIN_SECONDS
from roost.domain.compute import ComputeSpec, Machine, Priority
from roost.domain.errors import InvalidInput, RoostError, Unavailable
from roost.domain.gangs import SILENT_SECONDS, Phase, all_met
from roost.domain.plans import Errand
from roost.domain.runs import MAX_ATTEMPTS, Reason, Run, RunStatus
from roost.engines.base import Abilities, AgentState
from roost.services import compute, gangs, runs
from roost.services.context import Context
from roost.services.gangs import Meeting, MemberReport


@pytest.fixture
def plane(context: Context, engine: ScriptedEngine, clock: Clock) -> Plane:
    return Plane(context, engine, clock)


def begin(plane: Plane, nodes: int = 2, **spec: object) -> Run:
    """A gang whose agents have started and met, and run."""
    run = submit(plane.context, node_count=nodes, **spec)
    for _ in range(4):
        plane.turn()
    for rank in range(nodes):
        gangs.heartbeat(plane.context, ANN, run.id, rank)
        gangs.meet(plane.context, ANN, run.id, rank, Meeting(ports=(20000 + rank,)))
    for rank in range(nodes):
        say(plane, run, rank, RunStatus.RUNNING, Reason.SCRIPT_STARTED)
    return plane.run(run)


def say(plane: Plane, run: Run, rank: int, to: RunStatus, reason: Reason, **more: object) -> Run:
    return gangs.report(plane.context, ANN, run.id, rank, MemberReport(to=to, reason=reason, **more))  # type: ignore[arg-type]


def beat(plane: Plane, run: Run, *ranks: int) -> None:
    for rank in ranks:
        gangs.heartbeat(plane.context, ANN, run.id, rank)


def test_each_node_has_an_agent_that_knows_its_rank_and_all_meet(plane: Plane) -> None:
    run = submit(plane.context, node_count=2)
    plane.turn()
    assert [(plan.node_rank, plan.node, plan.errand) for plan in plane.engine.started] == [
        (0, "local-0", Errand.RUN),
        (1, "local-1", Errand.RUN),
    ]
    assert len({plan.address for plan in plane.engine.started}) == 2
    gangs.heartbeat(plane.context, ANN, run.id, 0)
    assert not all_met(gangs.meet(plane.context, ANN, run.id, 0, Meeting(ports=(20001,))))
    members = gangs.meet(plane.context, ANN, run.id, 1, Meeting(ports=(20002, 20003)))
    assert all_met(members)
    assert [member.ports for member in members] == [(20001,), (20002, 20003)]
    assert gangs.meet(plane.context, ANN, run.id, 1, Meeting(ports=(9,)))[1].ports == (20002, 20003), (
        "said twice is said once"
    )
    with pytest.raises(InvalidInput, match="70000"):
        gangs.meet(plane.context, ANN, run.id, 1, Meeting(ports=(70000,)))
    assert "start together" in runs.why(plane.context, plane.run(run))


def test_the_run_ends_when_all_have_ended(plane: Plane) -> None:
    run = begin(plane)
    assert plane.run(run).status is RunStatus.RUNNING
    say(plane, run, 1, RunStatus.FINALIZING, Reason.SCRIPT_ENDED)
    assert plane.run(run).status is RunStatus.RUNNING
    say(plane, run, 1, RunStatus.COMPLETED, Reason.DONE, exit_code=0)
    say(plane, run, 0, RunStatus.FINALIZING, Reason.SCRIPT_ENDED)
    assert plane.run(run).status is RunStatus.FINALIZING
    say(plane, run, 0, RunStatus.COMPLETED, Reason.DONE, exit_code=0)
    now = plane.run(run)
    assert (now.status, now.reason, now.exit_code) == (RunStatus.COMPLETED, Reason.DONE, 0)


def test_a_failure_is_told_to_the_others_before_its_files_are_shipped(plane: Plane) -> None:
    run = begin(plane, 3, target="local")
    say(plane, run, 2, RunStatus.FINALIZING, Reason.EXIT_CODE, message="Rank 2 ended with exit code 3.", exit_code=3)
    now = plane.run(run)
    assert (now.status, now.ending) == (RunStatus.RUNNING, Reason.NODE_FAILED)
    assert now.message.startswith("On node 2 (local-2): Rank 2 ended")
    for rank in (0, 1):
        say(plane, run, rank, RunStatus.FAILED, Reason.NODE_FAILED)
    assert not plane.run(run).status.is_terminal
    say(plane, run, 2, RunStatus.FAILED, Reason.EXIT_CODE, message="Rank 2 ended with exit code 3.", exit_code=3)
    now = plane.run(run)
    assert (now.status, now.reason, now.exit_code) == (RunStatus.FAILED, Reason.EXIT_CODE, 3)
    assert now.message.endswith("It was ended on node 0 (local-0), node 1 (local-1) too.")


def test_nodes_that_only_serve_end_with_the_others(plane: Plane) -> None:
    run = begin(plane)
    say(plane, run, 1, RunStatus.RUNNING, Reason.SCRIPT_STARTED, serving=True)
    say(plane, run, 0, RunStatus.FINALIZING, Reason.SCRIPT_ENDED)
    assert plane.run(run).ending is Reason.NODES_DONE
    say(plane, run, 1, RunStatus.COMPLETED, Reason.NODES_DONE, exit_code=0)
    say(plane, run, 0, RunStatus.COMPLETED, Reason.DONE, exit_code=0)
    assert plane.run(run).status is RunStatus.COMPLETED


def test_a_node_that_never_comes_fails_the_run_and_is_named(plane: Plane) -> None:
    run = submit(plane.context, node_count=2)
    plane.turn()
    gangs.meet(plane.context, ANN, run.id, 0, Meeting())
    for _ in range(int(JOIN_SECONDS) + 5):
        beat(plane, run, 0)
        plane.later(1)
    now = plane.run(run)
    assert now.ending is Reason.NODE_FAILED
    assert "On node 1 (local-1): Its agent was started and did not report within 60 s." in now.message
    assert plane.engine.stopped == [f"{run.id}+1:2"]
    say(plane, run, 0, RunStatus.FAILED, Reason.NODE_FAILED)
    assert (plane.run(run).status, plane.run(run).reason) == (RunStatus.FAILED, Reason.START_FAILED)


def test_an_agent_that_is_gone_is_salvaged_and_then_given_up(plane: Plane) -> None:
    run = begin(plane)
    plane.engine.states[f"{run.id}+1:2"] = AgentState.GONE
    for _ in range(9):
        beat(plane, run, 0)
        plane.later(1)
    assert plane.engine.errands() == [Errand.RUN, Errand.RUN, Errand.SALVAGE]
    assert plane.engine.started[-1].node_rank == 1
    plane.engine.states[f"{run.id}+1:3"] = AgentState.GONE
    for _ in range(12):
        beat(plane, run, 0)
        plane.later(1)
    assert plane.run(run).ending is Reason.NODE_FAILED
    say(plane, run, 0, RunStatus.FAILED, Reason.NODE_FAILED)
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert (
        "On node 1 (local-1): Its agent ended unexpectedly, and so did the one that was started to save its files."
        in now.message
    )


def test_a_start_that_fails_for_good_ends_those_that_started(plane: Plane) -> None:
    run = submit(plane.context, node_count=2)
    plane.engine.failures = [RoostError("No such thing.")]
    plane.turn()
    members = gangs.members(plane.context, ANN, run.id)
    assert [member.phase for member in members] == [Phase.ENDED, Phase.GIVEN]
    assert "could not be started: No such thing." in plane.run(run).message


def test_a_start_that_may_pass_is_tried_again_and_a_new_control_plane_goes_on(plane: Plane) -> None:
    run = submit(plane.context, node_count=2)
    plane.engine.failures = [Unavailable("Not now.")]
    plane.turn()
    assert [plan.node_rank for plan in plane.engine.started] == [1]
    plane.restart()
    plane.later(10)
    assert sorted(plan.node_rank for plan in plane.engine.started) == [0, 1]
    assert plane.run(run).status is RunStatus.PROVISIONING


def test_a_cancel_ends_members_that_never_started_and_waits_for_the_others(plane: Plane) -> None:
    run = submit(plane.context, node_count=2)
    plane.engine.failures = [Unavailable("Not now.")]
    plane.turn()
    assert [plan.node_rank for plan in plane.engine.started] == [1]
    beat(plane, run, 1)
    runs.cancel(plane.context, ANN, run.id)
    plane.later(3)
    never, other = gangs.members(plane.context, ANN, run.id)
    assert (never.phase, never.to) == (Phase.ENDED, RunStatus.CANCELED)
    assert never.message == "It was ended before its script started on this node."
    assert other.phase is Phase.PREPARING
    assert len(plane.engine.started) == 1, "nothing is started for a run that is cancelled"
    assert not plane.run(run).status.is_terminal
    say(plane, run, 1, RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert plane.run(run).status is RunStatus.CANCELED


def test_members_that_do_not_hear_a_cancel_are_stopped(plane: Plane) -> None:
    run = begin(plane)
    runs.cancel(plane.context, ANN, run.id)
    for _ in range(5):
        beat(plane, run, 0, 1)
        plane.later(1)
    assert plane.engine.stopped == [], "they have their seconds to end by themselves"
    for _ in range(14):
        beat(plane, run, 0, 1)
        plane.later(1)
    assert set(plane.engine.stopped) == {f"{run.id}:1", f"{run.id}+1:2"}
    for rank in (0, 1):
        say(plane, run, rank, RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert plane.run(run).status is RunStatus.CANCELED


def low(plane: Plane) -> None:
    spec = ComputeSpec(max_nodes=3, idle_seconds=600.0, priority=Priority.LOW)
    compute.create(plane.context, ANN, "vision", "low", spec)


def test_a_gang_that_loses_a_node_waits_again_and_old_agents_count_for_nothing(plane: Plane) -> None:
    low(plane)
    run = begin(plane, target="low")
    compute.preempt(plane.context, ANN, "vision", "low", "low-2")
    assert plane.run(run).ending is Reason.PREEMPTED
    for rank in (0, 1):
        say(plane, run, rank, RunStatus.FAILED, Reason.PREEMPTED, attempt=1)
    now = plane.run(run)
    assert (now.status, now.attempt, now.ending) == (RunStatus.QUEUED, 2, Reason.NONE)
    say(plane, run, 1, RunStatus.FAILED, Reason.PREEMPTED, attempt=1)
    for _ in range(4):
        plane.turn()
    gangs.heartbeat(plane.context, ANN, run.id, 1, attempt=1)
    assert plane.run(run).status is RunStatus.PROVISIONING
    assert [member.phase for member in gangs.members(plane.context, ANN, run.id)] == [Phase.GIVEN] * 2
    plans = plane.engine.started[2:]
    assert [(plan.attempt, plan.node_rank, plan.preemptible) for plan in plans] == [(2, 0, True), (2, 1, True)]
    assert "low-2" not in {plan.node for plan in plans}


def test_a_run_that_loses_its_nodes_too_often_fails(plane: Plane) -> None:
    low(plane)
    run = submit(plane.context, target="low")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        for _ in range(4):
            plane.turn()
        (node,) = plane.context.store.computes.nodes_of(run.id)
        compute.preempt(plane.context, ANN, "vision", "low", node.id)
        said = runs.Report(to=RunStatus.FAILED, reason=Reason.PREEMPTED, attempt=attempt)
        runs.report(plane.context, ANN, run.id, said)
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.FAILED, Reason.PREEMPTED)
    assert now.message == f"Its nodes were taken away {MAX_ATTEMPTS} times; it is not started again."


def test_more_nodes_than_a_cluster_can_have_are_refused(plane: Plane) -> None:
    low(plane)
    with pytest.raises(InvalidInput, match="asks for 4 nodes, and cluster 'low' has at most 3"):
        submit(plane.context, target="low", node_count=4)


def test_gpus_are_handed_out_by_index(context: Context, engine: ScriptedEngine, clock: Clock) -> None:
    large = replace(EMBEDDED, capacity=Machine(cores=8, memory_gb=64.0, gpus=4))
    plane = Plane(replace(context, engines={"scripted": large}), engine, clock)
    low(plane)
    alone = submit(plane.context, target="low")
    gang = submit(plane.context, target="low", node_count=2)
    at_home = submit(plane.context, node_count=2)
    for _ in range(4):
        plane.turn()
    seen = {run.id: [plan.gpus for plan in engine.started if plan.run_id == run.id] for run in (alone, gang, at_home)}
    assert seen == {alone.id: [(0,)], gang.id: [(1,), (2,)], at_home.id: [(0, 1), (2, 3)]}


def test_nodes_are_hosts_one_at_a_time(plane: Plane) -> None:
    """Two clusters share two hosts: the second gang waits until the first has left them."""
    engines = {**plane.context.engines, "hosts": Abilities(hosts=("10.0.0.2", "10.0.0.3"))}
    plane = Plane(replace(plane.context, engines=engines), plane.engine, plane.clock)
    for name in ("one", "two"):
        compute.create(plane.context, ANN, "vision", name, ComputeSpec(max_nodes=2, idle_seconds=0, engine="hosts"))
    first = submit(plane.context, node_count=2, target="one")
    second = submit(plane.context, node_count=2, target="two")
    for _ in range(4):
        plane.turn()
    assert [plan.address for plan in plane.engine.started] == ["10.0.0.2", "10.0.0.3"]
    assert plane.run(second).status is RunStatus.QUEUED
    for rank in range(2):
        say(plane, first, rank, RunStatus.COMPLETED, Reason.DONE)
    for _ in range(6):
        plane.turn()
    assert [plan.run_id for plan in plane.engine.started] == [first.id] * 2 + [second.id] * 2
    assert {plan.address for plan in plane.engine.started[2:]} == {"10.0.0.2", "10.0.0.3"}


def test_a_member_that_is_silent_is_not_responding_until_it_is_heard(plane: Plane) -> None:
    run = begin(plane)
    plane.clock.pass_by(SILENT_SECONDS + 1)
    beat(plane, run, 0)
    plane.turn()
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.NOT_RESPONDING, Reason.SILENT)
    assert "node 1 (local-1)" in now.message
    assert "node 0" not in now.message
    beat(plane, run, 0)
    assert plane.run(run).status is RunStatus.NOT_RESPONDING, "the other one is the silent one"
    beat(plane, run, 1)
    assert plane.run(run).status is RunStatus.RUNNING


def test_a_node_that_cannot_be_asked_is_given_up_when_the_run_is_to_end(plane: Plane) -> None:
    run = begin(plane)
    plane.engine.states = dict.fromkeys(plane.engine.states, AgentState.UNKNOWN)
    plane.clock.pass_by(SILENT_SECONDS + 1)
    beat(plane, run, 0)
    plane.turn()
    assert plane.run(run).status is RunStatus.NOT_RESPONDING
    runs.cancel(plane.context, ANN, run.id)
    say(plane, run, 0, RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    plane.turn()
    assert plane.run(run).status is RunStatus.CANCEL_REQUESTED
    plane.clock.pass_by(SILENT_SECONDS + 1)
    plane.turn()
    assert plane.run(run).status is RunStatus.CANCELED
    assert "may still exist there" in gangs.members(plane.context, ANN, run.id)[1].message
