"""Which environment serves a model with no code: that of its run, what an MLflow folder asks for, or a curated one."""

import pytest

from roost.domain.errors import InvalidInput
from roost.domain.models import Model, Resources
from roost.environments.curated.machine import Machine
from roost.sdk import no_code_environments
from roost.sdk.no_code_environments import curated_name, version_in

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


def test_every_handler_has_packages_and_a_module() -> None:
    assert no_code_environments.PACKAGES.keys() == no_code_environments.MODULES.keys()
