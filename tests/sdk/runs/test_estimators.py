"""Estimators become ScriptRunConfigs: their script, packages, nodes. What they install runs for real in tests/real."""

from pathlib import Path

import pytest

from azureml.core.runconfig import MpiConfiguration
from azureml.train.dnn import Chainer, Gloo, Mpi, Nccl, ParameterServer, PyTorch, TensorFlow
from azureml.train.estimator import Estimator
from azureml.train.sklearn import SKLearn
from roost import Environment, ScriptRunConfig
from roost.domain.errors import InvalidInput
from roost.domain.topology import Topology
from roost.environments.curated.machine import Machine
from roost.sdk.environments import curated

MACHINE = Machine(pythons=("3.6", "3.7", "3.8", "3.10", "3.11"), gpu=False, mpi=True)
pytestmark = pytest.mark.filterwarnings("ignore:The estimator:DeprecationWarning")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_URL", raising=False)
    monkeypatch.setattr(curated.machine, "here", lambda: MACHINE)


def _pip(estimator: ScriptRunConfig) -> list[str]:
    return list(estimator.run_config.environment.python.conda_dependencies.pip_packages)


def test_a_deprecation_warning_names_the_way_on() -> None:
    with pytest.warns(DeprecationWarning, match="Estimator is deprecated: ScriptRunConfig") as caught:
        Estimator(".", entry_script="t.py")
    assert caught[0].filename == __file__


def test_as_the_article_prints_it(tmp_path: Path) -> None:
    made = PyTorch(
        source_directory=str(tmp_path),
        script_params={"--num_epochs": 30, "--output_dir": "./outputs", "--verbose": ""},
        compute_target="gpucluster",
        entry_script="pytorch_train.py",
        use_gpu=True,
        pip_packages=["pillow==5.4.1"],
    )
    spec = made.spec("")
    assert (spec.script, spec.target, spec.node_count, spec.launch) == ("pytorch_train.py", "gpucluster", 1, "single")
    assert spec.arguments == ("--num_epochs", "30", "--output_dir", "./outputs", "--verbose")
    assert made.conda_dependencies.get_python_version() == "3.6"
    packages = _pip(made)
    assert "torch==1.4.0" in packages
    assert [each for each in packages if each.startswith("pillow")] == ["pillow==5.4.1"]
    assert not any(each.startswith("horovod") for each in packages)


def test_mpi_brings_horovod_along(tmp_path: Path) -> None:
    made = PyTorch(
        source_directory=str(tmp_path),
        entry_script="script.py",
        node_count=2,
        process_count_per_node=2,
        distributed_training=MpiConfiguration(),
        framework_version="1.6",
    )
    spec = made.spec("")
    assert (spec.launch, spec.node_count, spec.topology) == ("mpi", 2, Topology(processes_per_node=2))
    assert {"torch==1.6.0", "horovod==0.19.5"} <= set(_pip(made))


@pytest.mark.parametrize(
    ("framework", "version", "python", "packages"),
    [
        (PyTorch, "1.13", "3.8", {"torch==1.13.1", "horovod==0.28.1"}),  # as the article prints it
        (PyTorch, "1.0", "3.6", {"torch==1.0.1", "horovod==0.16.1"}),
        (PyTorch, None, "3.6", {"torch==1.4.0", "horovod==0.19.5"}),
        (TensorFlow, None, "3.6", {"tensorflow==1.13.2", "horovod==0.16.1"}),
        (TensorFlow, "2.12", "3.10", {"tensorflow-cpu==2.12.1", "horovod==0.28.1"}),
    ],
)
def test_the_horovod_of_each_year(
    framework: type[PyTorch | TensorFlow], version: str | None, python: str, packages: set[str]
) -> None:
    made = framework(
        source_directory=".",
        entry_script="script.py",
        node_count=2,
        distributed_training=MpiConfiguration(),
        framework_version=version,
        use_gpu=True,
    )
    assert packages <= set(_pip(made))
    assert made.conda_dependencies.get_python_version() == python
    assert not any("Horovod" in note for note in made.run_config.environment._notes)


@pytest.mark.parametrize(
    ("job", "launch", "topology"),
    [
        (Mpi(process_count_per_node=3), "mpi", Topology(processes_per_node=3)),
        (Gloo(), "pytorch", Topology(backend="gloo")),
        (Nccl(), "pytorch", Topology(backend="nccl")),
        (ParameterServer(2, 1), "tensorflow", Topology(workers=2, parameter_servers=1)),
    ],
)
def test_older_names_of_what_distributes(job: object, launch: str, topology: Topology) -> None:
    spec = Estimator(".", entry_script="t.py", node_count=2, distributed_training=job).spec("")
    assert (spec.launch, spec.node_count, spec.topology) == (launch, 2, topology)


def test_distributed_backend() -> None:
    assert PyTorch(".", entry_script="t.py", node_count=2, distributed_backend="gloo").spec("").launch == "pytorch"
    made = TensorFlow(".", entry_script="t.py", distributed_backend="ps", worker_count=2, node_count=2)
    assert made.spec("").topology == Topology(workers=2, parameter_servers=1)
    with pytest.raises(InvalidInput, match="distributed_backend must be one of"):
        PyTorch(".", entry_script="t.py", distributed_backend="smoke")


def test_processes_need_something_that_starts_them() -> None:
    with pytest.raises(InvalidInput, match="process_count_per_node=2 needs something"):
        Estimator(".", entry_script="t.py", process_count_per_node=2)


def test_an_estimator_that_says_nothing_of_packages_has_no_environment() -> None:
    assert Estimator(".", entry_script="t.py").run_config.chosen_environment() is None


def test_packages_of_files_and_lists(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("pandas==1.0\n")
    (tmp_path / "conda.yml").write_text("dependencies:\n- python=3.7\n- pip:\n  - torch==1.5.0\n")
    made = Estimator(str(tmp_path), entry_script="t.py", pip_requirements_file="more.txt", pip_packages=["flask"])
    assert {"pandas==1.0", "flask"} <= set(_pip(made))
    framework = PyTorch(str(tmp_path), entry_script="t.py", conda_dependencies_file="conda.yml")
    assert "torch==1.5.0" in _pip(framework)
    assert not any(each == "torch==1.4.0" for each in _pip(framework))
    assert framework.conda_dependencies.get_python_version() == "3.7"


def test_an_environment_given_counts_alone() -> None:
    own = Environment("mine")
    made = SKLearn(".", entry_script="t.py", environment_definition=own, pip_packages=["flask"])
    assert made.run_config.environment is own


def test_frameworks_of_other_years() -> None:
    assert "scikit-learn==0.20.3" in _pip(SKLearn(".", entry_script="t.py"))
    assert "tensorflow==2.0.4" in _pip(TensorFlow(".", entry_script="t.py", framework_version="2.0"))
    assert "torch==1.13.1" in _pip(PyTorch(".", entry_script="t.py", framework_version="1.13"))
    assert "1.13.1" in PyTorch.get_supported_versions()
    assert "0.20.3" in SKLearn.get_supported_versions()
    assert "chainer==5.1.0" in _pip(Chainer(".", entry_script="t.py", use_gpu=True))


def test_what_is_left_out_says_so() -> None:
    with pytest.raises(InvalidInput, match="SKLearn runs on one node"):
        SKLearn(".", entry_script="t.py", node_count=2)
    with pytest.raises(InvalidInput, match="cannot make a compute target for itself"):
        Estimator(".", entry_script="t.py", vm_size="STANDARD_D2_V2")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        Estimator(".", entry_script="t.py", colour="red")
    with pytest.raises(InvalidInput, match="script_params must be a dict"):
        Estimator(".", entry_script="t.py", script_params=["--lr"])
    with pytest.raises(InvalidInput, match="inputs of an estimator are data"):
        Estimator(".", entry_script="t.py", inputs=["data"])
