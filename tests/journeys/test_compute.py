"""A cluster of at most four nodes and twenty runs, with a control plane that is killed twice in the middle."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.shared.folders import tree

from roost import AmlCompute, ComputeTarget, Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.compute import ComputeStatus
from roost.domain.runs import Reason
from roost.sdk.calls import run_records
from roost.sdk.compute.targets import _look
from roost.sdk.connection import discovery

SCRIPT = """
import os, sys, time
from azureml.core import Run

run = Run.get_context()
run.log("number", int(sys.argv[1]))
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
open("outputs/address.txt", "w").write(os.environ["ROOST_NODE_ADDRESS"])
"""


def until(target: ComputeTarget, enough: Callable[[ComputeStatus], bool]) -> ComputeStatus:
    """Waits for the cluster's changes until it is as it should be."""
    status = _look(target.workspace, target.name)
    while not enough(status):
        status = _look(target.workspace, target.name, {"after": status.compute.revision, "wait": 10})
    return status


def kill_the_control_plane(home: Path) -> None:
    record = discovery.read_record(home)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)


def given_at(run: Run) -> float:
    """When it was given its node."""
    events, _ = run_records.events(run._connection.client, run.id)
    return next(event.at for event in events if event.reason is Reason.NODE_GIVEN)


@pytest.mark.slow
def test_twenty_runs_on_four_nodes_and_a_control_plane_that_dies(
    home: Path, workspace: Workspace, tmp_path: Path
) -> None:
    tree(tmp_path / "src", {"train.py": SCRIPT})
    gate = tmp_path / "go"
    config = AmlCompute.provisioning_configuration(
        vm_size="STANDARD_D2_V2", max_nodes=4, idle_seconds_before_scaledown=2
    )
    target = ComputeTarget.create(workspace, "cpu", config)
    assert target.get_status().current_node_count == 0
    experiment = Experiment(workspace, "twenty")
    runs = [
        experiment.submit(ScriptRunConfig(tmp_path / "src", "train.py", [number, gate], compute_target=target))
        for number in range(20)
    ]

    # Up: four nodes, four runs on them in the order of submission, sixteen before the door.
    status = until(target, lambda now: len(now.nodes) == 4 and now.running == 4 and now.queued == 16)
    assert [node.run_id for node in status.nodes] == [run.id for run in runs[:4]]
    assert len({node.address for node in status.nodes}) == 4
    seen = target.get_status()
    assert (seen.current_node_count, seen.running_node_count, seen.target_node_count) == (4, 4, 4)
    assert seen.allocation_state == "Steady"
    _, why = run_records.events(workspace._connection.client, runs[7].id)
    assert why.startswith("All 4 nodes of cluster cpu are taken; 3 runs are ahead of it.")

    # Killed: the four go on and end while nobody is there; whoever asks next brings the control plane back.
    kill_the_control_plane(home)
    gate.touch()
    runs[0].wait_for_completion()
    runs[9].wait_for_completion()
    kill_the_control_plane(home)
    for run in runs:
        run.wait_for_completion()

    # Nothing lost, nobody overtaken, never more than four nodes.
    assert {run.get_status() for run in runs} == {"Completed"}
    assert [run.get_metrics()["number"] for run in runs] == list(range(20))
    assert sorted(runs, key=given_at) == runs
    for run in runs:
        assert "outputs/address.txt" in run.get_file_names()
    assert {node["nodeId"] for node in target.list_nodes()} <= {f"cpu-{number}" for number in range(1, 9)}

    # Down: idle nodes go by themselves.
    assert until(target, lambda now: not now.nodes).running == 0
    ended = target.get_status().serialize()
    assert (ended["currentNodeCount"], ended["allocationState"]) == (0, "Steady")
    target.delete()
    assert workspace.compute_targets == {}
