"""Curated environments as people name them, built and used: the versions that the names say are what a script imports. The first
run downloads 2 GB, and compiles Horovod where there is Open MPI; what is slow to make is kept in ROOST_TEST_CACHE.
"""

from pathlib import Path

import pytest
from tests.real import caches
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import Environment, Experiment, ScriptRunConfig, Workspace
from roost.environments.curated import machine

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

SCRIPT = """
import importlib, sys
from azureml.core import Run

run = Run.get_context()
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    run.log(name, str(getattr(module, "__version__", "")))
    if name.startswith("horovod."):
        module.init()
        run.log("size", module.size())
run.log("python", "%d.%d" % sys.version_info[:2])
"""


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Before anything is started: what is downloaded and compiled is kept for the next time, with that of other parts."""
    return caches.keep_builds(monkeypatch)


@pytest.mark.parametrize(
    ("name", "minor", "modules"),
    [
        ("AzureML-Minimal", "3.8", {}),
        ("AzureML-Scikit-learn-0.20.3", "3.6", {"sklearn": "0.20.3"}),
        ("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "3.7", {"sklearn": "0.24.2", "pandas": "", "matplotlib": ""}),
        ("AzureML-onnxruntime-1.6-ubuntu18.04-py37-cpu-inference", "3.7", {"onnxruntime": "1.6.0", "onnx": ""}),
        ("AzureML-Chainer-5.1.0-GPU", "3.6", {"chainer": "5.1.0", "chainer.links": ""}),
        ("AzureML-lightgbm-3.2-ubuntu18.04-py37-cpu", "3.7", {"lightgbm": "3.2.1", "sklearn": ""}),
        ("AzureML-xgboost-0.9-ubuntu18.04-py37-cpu-inference", "3.7", {"xgboost": "0.90"}),
        ("AzureML-tensorflow-2.7-ubuntu20.04-py38-cuda11-gpu", "3.8", {"tensorflow": "2.7.4", "keras": ""}),
        ("AzureML-PyTorch-2.13", "3.11", {"torch": "2.13.0", "torch.utils.tensorboard": ""}),
    ],
)
def test_a_script_imports_what_the_name_says(
    workspace: Workspace, experiment: Experiment, tmp_path: Path, name: str, minor: str, modules: dict[str, str]
) -> None:
    python(minor)
    used(workspace, experiment, tmp_path, name, minor, modules)


@pytest.mark.parametrize(
    ("name", "modules", "horovod"),
    [
        ("AzureML-PyTorch-1.6-GPU", {"torch": "1.6.0", "torchvision": "0.7.0"}, "horovod.torch"),
        ("AzureML-TensorFlow-2.2-GPU", {"tensorflow": "2.2.0"}, "horovod.tensorflow"),
    ],
)
def test_those_of_2020_have_horovod_where_it_can_be_built(
    workspace: Workspace, experiment: Experiment, tmp_path: Path, name: str, modules: dict[str, str], horovod: str
) -> None:
    python("3.6")
    extra = {horovod: ""} if machine.here().mpi else {}
    used(workspace, experiment, tmp_path, name, "3.6", {**modules, **extra})


def used(
    workspace: Workspace, experiment: Experiment, folder: Path, name: str, minor: str, modules: dict[str, str]
) -> None:
    environment = Environment.get(workspace=workspace, name=name)
    source = tree(folder / "src", {"train.py": SCRIPT})
    config = ScriptRunConfig(str(source), script="train.py", arguments=list(modules), environment=environment)
    run = experiment.submit(config)
    run.wait_for_completion(show_output=True)
    logged = run.get_metrics()
    assert logged["python"] == minor
    for module, version in modules.items():
        assert str(logged[module]).startswith(version), (module, logged)
