"""Runs in real containers: how they end, what they see, data, several nodes. Podman has a storage of its own (`podman.py`)."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.journeys.test_submit import until
from tests.real.containers import WAITS, engine, machine, own, shown, started, submit
from tests.real.podman import BASE, Podman
from tests.shared.folders import tree

from roost import (
    Dataset,
    DockerConfiguration,
    Environment,
    InferenceConfig,
    Model,
    MpiConfiguration,
    OutputFileDatasetConfig,
    Run,
    Workspace,
)
from roost.agent.folder import Folder
from roost_job.exceptions import ActivityFailedException, WebserviceException

__all__ = ["engine", "machine", "submit"]
pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.mark.parametrize("manner", ["polite", "deaf"])
def test_cancel(submit: Callable[..., Run], engine: Podman, home: Path, manner: str) -> None:
    run = submit(own(), WAITS, manner)
    started(run, home)
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    assert run.get_metrics() == {"loss": 1.0} and "outputs/model.txt" in run.get_file_names()
    assert ("TERM" in shown(run)) is (manner == "polite")
    assert engine.containers() == []


def test_cancel_while_a_dockerfile_is_built(submit: Callable[..., Run], engine: Podman) -> None:
    run = submit(Environment.from_dockerfile("long", f"FROM {BASE}\nRUN sleep 6113\n"))

    def sleepers() -> list[psutil.Process]:
        return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "6113"]]

    until(sleepers)
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    for sleeper in sleepers():  # Podman ends the step that it is at, and no further one
        sleeper.kill()


def test_a_time_out(submit: Callable[..., Run], engine: Podman) -> None:
    run = submit(own(), WAITS, "polite", max_run_duration_seconds=8)
    with pytest.raises(ActivityFailedException, match="longer than its limit of 8 s"):
        run.wait_for_completion()
    assert "TERM" in shown(run)


@pytest.mark.parametrize("victims", ["agent", "agent and keeper"])
def test_a_killed_agent(submit: Callable[..., Run], engine: Podman, home: Path, victims: str) -> None:
    run = submit(own(), WAITS, "polite")
    started(run, home)
    agent = psutil.Process(json.loads(Folder(home / "runs" / run.id).agent.read_bytes())["pid"])
    keeper = agent.parent()
    assert keeper is not None
    if victims != "agent":
        os.kill(keeper.pid, signal.SIGKILL)
    os.kill(agent.pid, signal.SIGKILL)
    with pytest.raises(ActivityFailedException, match="agent ended unexpectedly"):
        run.wait_for_completion()
    assert run.get_metrics() == {"loss": 1.0} and "outputs/model.txt" in run.get_file_names()
    until(lambda: engine.containers() == [])


def test_out_of_memory_is_told_with_the_limit(submit: Callable[..., Run]) -> None:
    hungry = "x = []\nwhile True:\n    x.append(bytearray(10_000_000))\n"
    limit = DockerConfiguration(use_docker=True, arguments=["--memory", "200m"])
    run = submit(own(), hungry, docker_runtime_config=limit)
    with pytest.raises(ActivityFailedException, match=r"ran out of memory: its limit is 200 MiB"):
        run.wait_for_completion()
    assert run.get_details()["error"]


@pytest.mark.parametrize(
    ("script", "words", "code"),
    [
        ("import sys\nsys.exit(3)", "exit code 3", 3),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV", -11),
        ("raise ValueError('inside')", "ValueError: inside", 1),
    ],
)
def test_how_a_script_ends(submit: Callable[..., Run], script: str, words: str, code: int) -> None:
    run = submit(own(), script)
    with pytest.raises(ActivityFailedException, match=words):
        run.wait_for_completion()
    assert run._record_now()["exit_code"] == code


def test_arguments_of_the_container(
    submit: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "data.txt").write_text("data")
    monkeypatch.setenv("ROOST_CONTAINER_VOLUMES", str(shared))
    script = """
import os
from azureml.core import Run
room = os.statvfs("/dev/shm")
Run.get_context().log("shm", room.f_blocks * room.f_frsize)
print("SAID", os.environ["WORD"], open("/mnt/data.txt").read())
"""
    flags = ["-e", "WORD=word", "-v", f"{shared}:/mnt:ro", "--ipc=private"]
    docker = DockerConfiguration(use_docker=True, shm_size="100m", arguments=flags)
    run = submit(own(), script, docker_runtime_config=docker)
    told = shown(run)
    assert run.get_status() == "Completed", told
    assert "SAID word data" in told and run.get_metrics() == {"shm": 100 * 1024**2}
    docker.arguments = ["-v", "/etc:/mnt"]
    refused = submit(own(), script, docker_runtime_config=docker)
    with pytest.raises(ActivityFailedException, match="may not be mounted on this node"):
        refused.wait_for_completion()


DATA = """
import json, os, sys
from azureml.core import Dataset, Run

run = Run.get_context()
placed, folder, made = sys.argv[1:]
files = Dataset.get_by_name(run.experiment.workspace, "words")
with files.mount() as place:
    listed = sorted(os.listdir(place.mount_point))
said = {"placed": [placed, open(placed).read()], "listed": listed, "folder": sorted(os.listdir(folder)),
        "here": [os.path.basename(path) for path in files.download("/tmp/here")], "variable": os.environ["placed"]}
store = run.experiment.workspace.get_default_datastore()
said["came"] = store.download("/tmp/came", prefix="words"), sorted(os.listdir("/tmp/came/words"))
store.upload("/tmp/came", "sent")
said["sent"] = sorted(Dataset.File.from_files((store, "sent/**")).to_path())
try:
    store.upload_files(["/etc/passwd"], target_path="sent")
except Exception as error:
    said["refused"] = str(error).splitlines()[0]
json.dump(said, open(os.path.join(made, "said.json"), "w"))
"""


def test_data_in_and_out_of_a_container(
    submit: Callable[..., Run], workspace: Workspace, tmp_path: Path, engine: Podman
) -> None:
    store = workspace.get_default_datastore()
    store.upload(str(tree(tmp_path / "up", {"1.txt": "one", "2.txt": "two"})), "words", show_progress=False)
    words = Dataset.File.from_files((store, "words")).register(workspace, "words")
    one = Dataset.File.from_files((store, "words/1.txt")).as_named_input("placed").as_mount("/data/placed")
    made = OutputFileDatasetConfig("made", destination=(store, "made"))
    run = submit(own(), DATA, one, words.as_mount(), made)
    run.wait_for_completion(show_output=True)
    store.download(str(tmp_path / "down"), prefix="made", show_progress=False)
    assert json.loads((tmp_path / "down" / "made" / "said.json").read_text()) == {
        "placed": ["/data/placed/1.txt", "one"],
        "listed": ["1.txt", "2.txt"],
        "folder": ["1.txt", "2.txt"],
        "here": ["1.txt", "2.txt"],
        "variable": "/data/placed/1.txt",
        "came": [2, ["1.txt", "2.txt"]],
        "sent": ["/words/1.txt", "/words/2.txt"],
        "refused": "'/etc/passwd' is in the container alone, where the agent does not reach it.",
    }


def test_mpi_over_two_nodes_in_containers_and_its_cancel(submit: Callable[..., Run], tmp_path: Path) -> None:
    """`mpirun` is in the container of the first node, its daemon and the ranks of the other in a container there."""
    (tmp_path / "requirements.txt").write_text("mpi4py\nopenmpi\n")
    made = Environment.from_docker_image("mpi", BASE, pip_requirements=str(tmp_path / "requirements.txt"))
    made.python.conda_dependencies.set_python_version("3.11")
    script = (Path(__file__).parents[2] / "examples" / "distributed" / "scripts" / "mpi_pi.py").read_text()
    script += "import os\nrun.log('inside_%d' % world.rank, os.path.exists('/run/.containerenv'))\n"
    run = submit(made, script, "--steps", 100000, distributed_job_config=MpiConfiguration(2, node_count=2))
    text = shown(run)
    assert run.get_status() == "Completed", text
    metrics = run.get_metrics()
    assert metrics["pi"] == pytest.approx(3.14159265, abs=1e-6)
    assert [metrics[f"ranks_seen_by_{rank}"] for rank in range(4)] == [4] * 4
    assert all(metrics[f"inside_{rank}"] for rank in range(4))
    assert "[3] rank 3 of 4 on local-1" in text
    waits = "from mpi4py import MPI\nfrom azureml.core import Run\nimport threading\n"
    waits += "Run.get_context().log('here_%d' % MPI.COMM_WORLD.rank, 1)\nthreading.Event().wait()\n"
    endless = submit(made, waits, distributed_job_config=MpiConfiguration(2, node_count=2))
    until(lambda: len(endless.get_metrics()) == 4)
    endless.cancel()
    endless.wait_for_completion()
    assert endless.get_status() == "Canceled"


def test_a_replica_in_a_container(engine: Podman, tmp_path: Path) -> None:
    (tmp_path / "weight.txt").write_text("7")
    script = """
import os

def init():
    global weight
    weight = open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "weight.txt")).read()

def run(data):
    if data == "die":
        os.kill(os.getpid(), 9)
    return [weight, os.path.exists("/run/.containerenv")]
"""
    source = tree(tmp_path / "source", {"score.py": script})
    workspace = Workspace()
    model = Model.register(workspace, str(tmp_path / "weight.txt"), "weight")
    config = InferenceConfig("score.py", source_directory=str(source), environment=own())
    service = Model.deploy(workspace, "boxed", [model], config)
    service.wait_for_deployment()
    assert service.state == "Healthy", service.get_logs()
    assert service.run("x") == ["7", True]
    assert len(engine.containers()) == 1
    with pytest.raises(WebserviceException):
        service.run("die")  # both tries end so
    until(lambda: service.run("x") == ["7", True])
    service.delete()
