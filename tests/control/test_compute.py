"""Clusters through the control plane, step by step: runs wait, nodes come, runs get them in turn, nodes go again."""

import pytest
from tests.control.engines import ScriptedEngine
from tests.control.test_runs import Plane
from tests.shared.contexts import ANN, Clock, submission, submit

from roost.domain.compute import Compute, ComputeSpec, NodeState
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import compute, runs
from roost.services.compute import ComputeChanges
from roost.services.context import Context
from roost.services.runs import Report
from roost.services.signals import compute_topic


@pytest.fixture
def plane(context: Context, engine: ScriptedEngine, clock: Clock) -> Plane:
    return Plane(context, engine, clock)


def make(plane: Plane, **spec: object) -> Compute:
    given: dict[str, object] = {"max_nodes": 4, "idle_seconds": 30.0, **spec}
    return compute.create(plane.context, ANN, "vision", "gpu", ComputeSpec(**given))[0]  # type: ignore[arg-type]


def settle(plane: Plane) -> None:
    """UpkeepLock until two in a row change nothing: nodes that came in one are ready in the next."""
    for _ in range(4):
        plane.turn()


def states(plane: Plane) -> list[str]:
    return [node.state.value for node in compute.status(plane.context, ANN, "vision", "gpu").nodes]


def started(plane: Plane) -> list[str]:
    return [plan.run_id for plan in plane.engine.started]


def end(plane: Plane, run: Run) -> None:
    plane.engine.kill(run.id)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.COMPLETED, reason=Reason.DONE, exit_code=0))


def test_nodes_come_for_runs_up_to_the_limit_and_the_rest_waits_in_order(plane: Plane) -> None:
    make(plane, max_nodes=2)
    settle(plane)
    assert states(plane) == []
    queue = [submit(plane.context, target="gpu") for _ in range(4)]
    settle(plane)
    assert states(plane) == ["running", "running"]
    assert started(plane) == [run.id for run in queue[:2]]
    assert plane.run(queue[2]).status is RunStatus.QUEUED
    end(plane, queue[1])
    settle(plane)
    assert started(plane) == [run.id for run in queue[:3]]
    end(plane, queue[0])
    end(plane, queue[2])
    settle(plane)
    assert started(plane) == [run.id for run in queue]
    assert states(plane) == ["running", "idle"]


def test_each_run_is_told_its_node_and_address(plane: Plane) -> None:
    make(plane)
    queue = [submit(plane.context, target="gpu") for _ in range(3)]
    at_home = submit(plane.context)
    settle(plane)
    plans = {plan.run_id: plan for plan in plane.engine.started}
    assert sorted(plans[run.id].node for run in queue) == ["gpu-1", "gpu-2", "gpu-3"]
    assert len({plans[run.id].address for run in queue}) == 3
    assert (plans[at_home.id].node, plans[at_home.id].address) == ("", "127.0.0.1")
    happened = [event.message for event in runs.events(plane.context, ANN, queue[0].id)]
    assert "Was given node gpu-1 of gpu." in happened


def test_idle_nodes_go_after_their_time_and_the_least_stays(plane: Plane) -> None:
    make(plane, min_nodes=1, max_nodes=3)
    settle(plane)
    assert states(plane) == ["idle"]
    queue = [submit(plane.context, target="gpu") for _ in range(3)]
    settle(plane)
    assert states(plane) == ["running"] * 3
    for run in queue:
        end(plane, run)
    plane.later(29)
    assert states(plane) == ["idle"] * 3
    plane.later(3)
    assert states(plane) == ["idle"]
    plane.later(100)
    assert states(plane) == ["idle"]


def test_a_run_that_comes_in_time_keeps_its_node_from_going(plane: Plane) -> None:
    make(plane, max_nodes=1)
    end(plane, _run(plane))
    plane.later(25)
    run = submit(plane.context, target="gpu")
    settle(plane)
    assert plane.run(run).status is RunStatus.PROVISIONING
    assert [plan.node for plan in plane.engine.started] == ["gpu-1", "gpu-1"]


def _run(plane: Plane) -> Run:
    run = submit(plane.context, target="gpu")
    settle(plane)
    return run


def test_a_lowered_limit_waits_for_the_runs_beyond_it(plane: Plane) -> None:
    make(plane, max_nodes=3)
    queue = [submit(plane.context, target="gpu") for _ in range(4)]
    settle(plane)
    compute.update(plane.context, ANN, "vision", "gpu", ComputeChanges(max_nodes=1))
    settle(plane)
    assert states(plane) == ["running", "leaving", "leaving"]
    assert plane.run(queue[3]).status is RunStatus.QUEUED
    for run in queue[1:3]:
        end(plane, run)
    settle(plane)
    assert states(plane) == ["running"]
    end(plane, queue[0])
    settle(plane)
    assert plane.run(queue[3]).status is RunStatus.PROVISIONING


def test_users_take_turns(plane: Plane) -> None:
    make(plane, max_nodes=2)
    greedy = [submit(plane.context, target="gpu") for _ in range(4)]
    late, _ = runs.submit(
        plane.context, Caller(user="bob", role=Role.PERSON), "vision", submission(plane.context, target="gpu")
    )
    settle(plane)
    assert started(plane) == [greedy[0].id, late.id]


def test_a_cancelled_run_leaves_the_queue_and_a_lost_one_frees_its_node(plane: Plane) -> None:
    make(plane, max_nodes=1)
    first, second, third = (submit(plane.context, target="gpu") for _ in range(3))
    settle(plane)
    runs.cancel(plane.context, ANN, second.id)
    plane.engine.kill(first.id)
    plane.later(30)
    plane.engine.kill(first.id)
    plane.later(30)
    assert plane.run(first).status is RunStatus.FAILED
    assert plane.run(second).status is RunStatus.CANCELED
    assert plane.run(third).status is RunStatus.PROVISIONING


def test_a_salvage_pass_is_on_the_run_s_own_node(plane: Plane) -> None:
    make(plane, max_nodes=1)
    run = _run(plane)
    plane.engine.kill(run.id)
    plane.later(20)
    assert [plan.node for plan in plane.engine.started] == ["gpu-1", "gpu-1"]


def test_a_new_control_plane_goes_on_where_the_old_one_was(plane: Plane) -> None:
    make(plane, max_nodes=2)
    queue = [submit(plane.context, target="gpu") for _ in range(5)]
    done: set[str] = set()
    for _ in range(20):
        plane.restart()
        plane.turn()
        for run in queue:
            if run.id in started(plane) and run.id not in done:
                done.add(run.id)
                end(plane, run)
                break
    assert started(plane) == [run.id for run in queue]
    assert {plane.run(run).status for run in queue} == {RunStatus.COMPLETED}
    plane.restart()
    plane.later(40)
    assert states(plane) == []


def test_whoever_waits_for_a_cluster_is_woken(plane: Plane) -> None:
    make(plane)
    with plane.context.signals.listen(compute_topic("vision", "gpu")) as listener:
        submit(plane.context, target="gpu")
        plane.turn()
        assert listener.wait(0)
        assert [node.state for node in compute.status(plane.context, ANN, "vision", "gpu").nodes] != [NodeState.IDLE]


def test_why_a_run_waits_for_a_cluster(plane: Plane) -> None:
    make(plane, max_nodes=2)
    queue = [submit(plane.context, target="gpu") for _ in range(5)]
    for run in queue:
        runs.move(plane.context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")

    def why(run: Run) -> str:
        return runs.why(plane.context, plane.run(run))

    assert why(queue[0]) == "Cluster gpu is scaling from 0 to 2 nodes; no run is ahead of it."
    assert why(queue[3]) == "Cluster gpu is scaling from 0 to 2 nodes; 3 runs are ahead of it."
    settle(plane)
    assert why(queue[3]) == (
        "All 2 nodes of cluster gpu are taken; 1 run is ahead of it. `roost run list --status Running` shows what runs."
    )
    assert why(queue[0]) == "Its agent is starting on a node of gpu."
