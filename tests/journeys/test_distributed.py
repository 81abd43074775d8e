"""Distributed runs through the SDK with nothing but the standard library: ranks meet where the platform says, and are counted."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.shared.folders import tree

from roost import (
    AmlCompute,
    ComputeTarget,
    Dataset,
    Experiment,
    OutputFileDatasetConfig,
    PyTorchConfiguration,
    Run,
    ScriptRunConfig,
    TensorflowConfiguration,
    Workspace,
)
from roost.domain.errors import InvalidInput
from roost_job.exceptions import ActivityFailedException

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

MEET = """
import os, socket, sys, time
from azureml.core import Run
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
print("arguments", *sys.argv[1:])
if rank == 0:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(place)
    server.listen(size)
    ranks = sorted(int(server.accept()[0].recv(100)) for _ in range(size - 1))
    Run.get_context().log_list("met", ranks)
else:
    for _ in range(600):
        try:
            socket.create_connection(place).sendall(str(rank).encode())
            break
        except OSError:
            time.sleep(0.05)
    Run.get_context().log("node_of_%d" % rank, int(os.environ["NODE_RANK"]))
"""
TASK = """
import json, os, socket, time
from azureml.core import Run
config = json.loads(os.environ["TF_CONFIG"])
task, server = config["task"], config["cluster"]["ps"][0].split(":")
place = (server[0], int(server[1]))
if task["type"] == "ps":
    listener = socket.create_server(place)
    while True:
        listener.accept()[0].sendall(b"served")

def ask():
    for _ in range(600):
        try:
            return socket.create_connection(place).recv(100)
        except ConnectionRefusedError:
            time.sleep(0.05)

ask()
if task["type"] == "worker" and task["index"] == 1:
    # The other worker, which is on the server's node, has ended; its node has said so before this asks again.
    done = os.path.join(os.environ["ROOST_SHARED"], "done")
    while not os.path.exists(done):
        time.sleep(0.05)
    time.sleep(1)
    assert ask() == b"served"
Run.get_context().log("tasks_seen_by_%(index)d" % task, sum(len(each) for each in config["cluster"].values()))
if task["type"] == "worker" and task["index"] == 0:
    open(os.path.join(os.environ["ROOST_SHARED"], "done"), "w").close()
"""
CHIEF = """
import json, os, threading
task = json.loads(os.environ["TF_CONFIG"])["task"]
if task["type"] != "chief":
    threading.Event().wait()
print("the chief is done")
"""
RING = """
import os, signal, socket, sys, time
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    server = socket.create_server(place)
    peers = [server.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
    print("met", flush=True)
    time.sleep(600)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        peer = socket.create_connection(place)
        break
    except OSError:
        time.sleep(0.05)
peer.recv(1)  # until the first has gone
sys.exit("the first rank is gone")
"""


@pytest.fixture
def cluster(workspace: Workspace) -> ComputeTarget:
    made = ComputeTarget.create(workspace, "pair", AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=2))
    made.wait_for_completion()
    return made


def begun(
    experiment: Experiment, folder: Path, target: object, text: str, job: object, *arguments: object, **more: Any
) -> Run:
    source = tree(folder / "src", {"train.py": text})
    config = ScriptRunConfig(
        str(source),
        "train.py",
        list(arguments),  # type: ignore[arg-type]
        compute_target=target,
        distributed_job_config=job,
        **more,
    )
    return experiment.submit(config)


def run_of(experiment: Experiment, folder: Path, target: object, text: str, job: object, *arguments: object) -> Run:
    run = begun(experiment, folder, target, text, job, *arguments)
    run.wait_for_completion()
    return run


def log_of(run: Run, folder: Path) -> str:
    run.download_file("user_logs/std_log.txt", str(folder / "log.txt"))
    return (folder / "log.txt").read_text()


def wait_for(happened: Callable[[], bool]) -> None:
    while not happened():
        time.sleep(0.1)


@pytest.mark.parametrize("target", ["cluster", "local"])
def test_ranks_meet_at_the_first(
    experiment: Experiment, tmp_path: Path, target: str, request: pytest.FixtureRequest
) -> None:
    place = request.getfixturevalue("cluster") if target == "cluster" else "local"
    job = PyTorchConfiguration("Gloo", process_count=4, node_count=2)
    run = run_of(experiment, tmp_path, place, MEET, job, "--rank", "$AZ_BATCHAI_TASK_INDEX", "--nodes", "${NODE_RANK}")
    assert run.get_metrics() == {"met": [1, 2, 3], "node_of_1": 0, "node_of_2": 1, "node_of_3": 1}
    for rank in range(4):
        run.download_file(f"user_logs/std_log_process_{rank}.txt", str(tmp_path / "log.txt"))
        assert (tmp_path / "log.txt").read_text() == f"arguments --rank {rank} --nodes {rank // 2}\n"


def test_parameter_servers_end_with_the_workers(experiment: Experiment, cluster: ComputeTarget, tmp_path: Path) -> None:
    run = run_of(experiment, tmp_path, cluster, TASK, TensorflowConfiguration(2, 1))
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {"tasks_seen_by_0": 3, "tasks_seen_by_1": 3}


def test_beside_a_chief_nobody_is_waited_for(experiment: Experiment, cluster: ComputeTarget, tmp_path: Path) -> None:
    run = run_of(experiment, tmp_path, cluster, CHIEF, TensorflowConfiguration(2, 1, chief=True))
    assert run.get_status() == "Completed"


def test_ranks_that_fail_of_a_cancel_do_not_make_it_a_failure(experiment: Experiment, tmp_path: Path) -> None:
    run = begun(experiment, tmp_path, "local", RING, PyTorchConfiguration("Gloo", node_count=4))
    wait_for(lambda: "user_logs/std_log.txt" in run.get_file_names() and "met" in log_of(run, tmp_path))
    run.cancel()
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Canceled"


def test_a_gang_is_ended_from_outside_as_failed(experiment: Experiment, tmp_path: Path) -> None:
    run = begun(experiment, tmp_path, "local", RING, PyTorchConfiguration("Gloo", node_count=2))
    wait_for(lambda: "user_logs/std_log.txt" in run.get_file_names() and "met" in log_of(run, tmp_path))
    run.fail("it diverges")
    details = run.wait_for_completion(raise_on_error=False)
    assert (details["status"], details["error"]["error"]["message"]) == ("Failed", "it diverges")


def test_ranks_that_fail_of_the_limit_do_not_hide_it(experiment: Experiment, tmp_path: Path) -> None:
    job = PyTorchConfiguration("Gloo", node_count=4)
    run = begun(experiment, tmp_path, "local", RING, job, max_run_duration_seconds=4)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "ran longer than its limit of 4 s" in str(run.get_details()["error"])


def test_one_process_has_its_variables_too(experiment: Experiment, tmp_path: Path) -> None:
    text = "import os; print(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['MASTER_ADDR'])"
    run = run_of(experiment, tmp_path, "local", text, PyTorchConfiguration())
    run.download_file("user_logs/std_log.txt", str(tmp_path / "log.txt"))
    assert (tmp_path / "log.txt").read_text() == "0 1 127.0.0.1\n"


DATA = """
import os, sys
made, fails = sys.argv[1], sys.argv[2] == "fails"
rank = os.environ["RANK"]
if fails and rank == "1":
    sys.exit("rank 1 has no data")
for name, text in (("part-%s.txt" % rank, rank), ("same.txt", "same"), ("own.txt", "of " + rank)):
    with open(os.path.join(made, name), "w") as file:
        file.write(text)
"""


def test_data_of_all_nodes_is_one_dataset(
    workspace: Workspace, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path
) -> None:
    made = OutputFileDatasetConfig("made").register_on_complete("parts")
    job = PyTorchConfiguration("Gloo", node_count=2)
    run = run_of(experiment, tmp_path, cluster, DATA, job, made, "well")
    parts = Dataset.get_by_name(workspace, "parts")
    assert parts.version == 1, "registered once, by the last node"
    parts.download(str(tmp_path / "parts"))
    assert {path.name: path.read_text() for path in (tmp_path / "parts").iterdir()} == {
        "part-0.txt": "0",
        "part-1.txt": "1",
        "same.txt": "same",
        "own.txt": "of 0",
        "own.txt.node1": "of 1",
    }
    assert run.output_datasets["made"].id == parts.id
    run.download_file("user_logs/std_log.txt", str(tmp_path / "log.txt"))
    said = (tmp_path / "log.txt").read_text()
    assert "[node 1] Output made: own.txt is another on an earlier node; this one is beside it." in said
    assert "registered as 'parts'" in said


def test_data_is_delivered_when_all_nodes_have_ended_well(
    workspace: Workspace, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path
) -> None:
    made = OutputFileDatasetConfig("made", destination=(workspace.get_default_datastore(), "fixed"))
    source = tree(tmp_path / "src", {"train.py": DATA})
    job = PyTorchConfiguration("Gloo", node_count=2)
    config = ScriptRunConfig(
        str(source), "train.py", [made, "fails"], compute_target=cluster, distributed_job_config=job
    )
    run = experiment.submit(config)
    with pytest.raises(ActivityFailedException, match="rank 1 has no data"):
        run.wait_for_completion()
    assert run.output_datasets == {}
    with pytest.raises(InvalidInput, match="There is no file at workspaceblobstore/fixed"):
        Dataset.File.from_files((workspace.get_default_datastore(), "fixed/**")).to_path()
