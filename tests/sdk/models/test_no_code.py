"""Which environment serves a model with no code: that of its run, what an MLflow folder asks for, or a curated one."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from roost import AciWebservice, Experiment, ScriptRunConfig, Workspace
from roost import Model as Registered
from roost.domain.endpoints import EndpointSpec, Version
from roost.domain.errors import InvalidEndpoint, InvalidInput, InvalidModel
from roost.domain.models import Model, Resources
from roost.environments.curated.machine import Machine
from roost.sdk.models import no_code, no_code_environments
from roost.sdk.models.no_code_environments import curated_name, version_in
from roost.sdk.services import deploying
from roost_job.models.model_settings import ResourceConfiguration

ALL = Machine(pythons=("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12"), gpu=False, mpi=False)
NEW = Machine(pythons=("3.12",), gpu=False, mpi=False)


def model(framework: str, version: str = "", **given: object) -> Model:
    about = {"framework": framework, "framework_version": version, **given}
    return Model(workspace="w", name="net", version=1, manifest="", path="m", **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "loader", "machine", "name", "noted"),
    [
        (model("TensorFlow", "2.0"), "tensorflow", ALL, "AzureML-tensorflow-2.0-cpu-inference", False),
        (model("TensorFlow", "2.0"), "tensorflow", NEW, "AzureML-tensorflow-2.16.2-cpu-inference", True),
        (model("TensorFlow", "2.0"), "tensorflow", None, "AzureML-tensorflow-2.0-cpu-inference", False),
        (model("TFKeras", "3.4"), "tensorflow", ALL, "AzureML-tensorflow-2.21.0-cpu-inference", False),
        (model("Onnx", "1.3"), "onnx", ALL, "AzureML-onnxruntime-1.24.4-cpu-inference", False),
        (model("ScikitLearn", "0.22.1"), "sklearn", ALL, "AzureML-sklearn-0.22.1-cpu-inference", False),
        (model("ScikitLearn"), "sklearn", NEW, "AzureML-sklearn-1.8.0-cpu-inference", False),
        (
            model("PyTorch", "2.8", resources=Resources(gpu=1)),
            "torchscript",
            ALL,
            "AzureML-pytorch-2.8-gpu-inference",
            False,
        ),
    ],
)
def test_curated_by_framework_and_version(
    made: Model, loader: str, machine: Machine | None, name: str, noted: bool
) -> None:
    found, notes = curated_name(made, loader, machine)
    assert found == name
    assert bool(notes) is noted


def test_a_version_that_is_none_is_said() -> None:
    with pytest.raises(InvalidInput, match="which is no version"):
        curated_name(model("ScikitLearn", "latest"), "sklearn", ALL)


@pytest.mark.parametrize(
    ("installed", "package", "version"),
    [
        ("numpy==2.1\nscikit-learn==1.8.0 \\\n    --hash=sha256:ab", "scikit-learn", "1.8.0"),
        ("scikit_learn==1.8.0", "scikit-learn", "1.8.0"),
        ("torch==2.13.0+cpu", "torch", "2.13.0"),
        ("torchvision==0.20\nnumpy", "torch", None),
        ("onnxruntime-gpu==1.20", "onnxruntime", None),
        ("tensorflow-cpu==2.21.0", "tensorflow", None),
        ("torch", "torch", ""),
        ("torch>=2", "torch", ""),
        ("conda-forge/linux-64/scikit-learn-1.5.2-py311.conda", "scikit-learn", "1.5.2"),
        ("scikit-learn=1.5", "scikit-learn", "1.5"),
    ],
)
def test_what_is_installed(installed: str, package: str, version: str | None) -> None:
    assert version_in(installed, package) == version


def test_a_deployment_gives_a_framework_at_least_what_it_takes_itself() -> None:
    config = AciWebservice.deploy_configuration(cpu_cores=1, memory_gb=0.5)
    spec = EndpointSpec(versions=(Version(handler="tensorflow"), Version(name="own", handler="script")))
    assert [each.limits.memory_gb for each in deploying._limited(config, spec).versions] == [2.0, 0.5]


def test_every_handler_has_packages_and_a_module() -> None:
    assert no_code_environments.PACKAGES.keys() == no_code_environments.MODULES.keys()


class TestVersionFor:
    """Of models that are registered."""

    def test_one_that_somebody_brought_gets_a_curated_environment(self, workspace: Workspace, tmp_path: Path) -> None:
        (tmp_path / "model.pkl").write_bytes(b"")
        about = {"model_framework": "ScikitLearn", "model_framework_version": "1.8"}
        made = Registered.register(workspace, str(tmp_path / "model.pkl"), "flowers", **about)
        version = no_code.version_for(workspace, made._record)
        assert (version.handler, version.models, version.interpreter) == ("sklearn", ("flowers:1",), "")
        assert version.environment is not None
        assert "scikit-learn==1.8.0" in str(version.environment.definition)
        assert version.environment_variables["OMP_NUM_THREADS"] == "1"

    def test_another_model_brings_its_own_size_where_nobody_set_one(self, workspace: Workspace, tmp_path: Path) -> None:
        (tmp_path / "model.pkl").write_bytes(b"")
        about = {"model_framework": "ScikitLearn", "model_framework_version": "1.8"}
        sizes = [ResourceConfiguration(cpu=1, memory_in_gb=1), ResourceConfiguration(cpu=2, memory_in_gb=4)]
        small, large = (
            Registered.register(workspace, str(tmp_path / "model.pkl"), "flowers", resource_configuration=each, **about)
            for each in sizes
        )
        now = no_code.version_for(workspace, small._record)
        change = deploying.change_of(workspace, "birds", now, [large], None)
        assert change is not None
        limits = change(now).limits
        assert (limits.cpu, limits.memory_gb) == (2, 4)
        chosen = replace(now.limits, memory_gb=3.0, timeout_seconds=7.0)
        limits = change(replace(now, limits=chosen)).limits
        assert (limits.cpu, limits.memory_gb, limits.timeout_seconds) == (2, 3.0, 7.0)
        low = replace(now.limits, memory_gb=0.1)
        assert change(replace(now, limits=low)).limits.memory_gb == 0.5

    def test_one_of_a_run_is_served_where_it_was_made(
        self, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "train.py").write_text("open('outputs/model.pkl', 'w').close()")
        run = Experiment(workspace, "train").submit(ScriptRunConfig(str(tmp_path / "src"), script="train.py"))
        run.wait_for_completion()
        about = {"model_framework": "ScikitLearn", "model_framework_version": "1.8"}
        record = run.register_model("flowers", "outputs/model.pkl", **about)._record
        monkeypatch.setitem(no_code_environments.MODULES, "sklearn", "no_such_module_anywhere")
        version = no_code.version_for(workspace, record)
        assert version.environment is not None
        monkeypatch.setitem(no_code_environments.MODULES, "sklearn", "json")
        version = no_code.version_for(workspace, record)
        assert (version.environment, version.interpreter) == (None, sys.executable)

    def test_an_mlflow_folder_says_what_it_needs(self, workspace: Workspace, tmp_path: Path) -> None:
        folder = tmp_path / "flowers"
        folder.mkdir()
        flavours = "{sklearn: {pickled_model: model.pkl}, python_function: {python_version: 3.11.7}}"
        (folder / "MLmodel").write_text(f"flavors: {flavours}")
        (folder / "model.pkl").write_bytes(b"")
        (folder / "requirements.txt").write_text("mlflow==3.1\nscikit-learn==1.7.2\n")
        version = no_code.version_for(workspace, Registered.register(workspace, str(folder), "flowers")._record)
        assert version.handler == "mlflow"
        assert version.environment is not None
        assert "scikit-learn==1.7.2" in str(version.environment.definition)
        assert "mlflow==3.1" not in str(version.environment.definition)
        assert '"loader": "sklearn"' in version.environment_variables["ROOST_SERVING_MLFLOW"]

    def test_what_cannot_be_served_or_exported_says_so_before_anything_happens(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        (tmp_path / "weights.bin").write_bytes(b"")
        made = Registered.register(workspace, str(tmp_path / "weights.bin"), "net")
        with pytest.raises(InvalidEndpoint, match="'Custom'"):
            Registered.deploy(workspace, "net-service", [made])
        with pytest.raises(InvalidModel, match="PyTorch and scikit-learn models can"):
            made.to_onnx(sample_input=[[1.0]])
        torch = Registered.register(workspace, str(tmp_path / "weights.bin"), "net", model_framework="PyTorch")
        with pytest.raises(InvalidModel, match="opset"):
            torch.to_onnx(sample_input=[[1.0]], opset=3)
        assert workspace.webservices == {}
        assert list(Experiment.list(workspace)) == []
