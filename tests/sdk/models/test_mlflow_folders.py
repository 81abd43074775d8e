"""MLflow folders, read: who loads them, what they say of their input, what they need."""

import json

import pytest

from roost.domain.errors import InvalidEndpoint
from roost.sdk.models import mlflow_folders
from roost.sdk.models.mlflow_folders import Folder

SKLEARN = """
flavors:
  python_function:
    env: {conda: conda.yaml, virtualenv: python_env.yaml}
    loader_module: mlflow.sklearn
    model_path: model.pkl
    predict_fn: predict_proba
    python_version: 3.10.2
  sklearn:
    code: null
    pickled_model: model.pkl
    serialization_format: cloudpickle
signature:
  inputs: '[{"type": "double", "name": "a", "required": true}, {"type": "long",
    "name": "b", "required": true}]'
  outputs: '[{"type": "tensor", "tensor-spec": {"dtype": "int64", "shape": [-1]}}]'
"""
REQUIREMENTS = "-c constraints.txt\nmlflow==2.9\nscikit-learn==1.8.0\n\nnumpy==2.1\n"


def read(**files: str) -> Folder:
    there = {f"flowers/{name}": text for name, text in files.items()}
    return mlflow_folders.read("flowers:1", sorted(there), there.__getitem__)


def test_scikit_learn_is_loaded_without_mlflow() -> None:
    found = read(
        **{"MLmodel": SKLEARN, "model.pkl": "", "requirements.txt": REQUIREMENTS, "python_env.yaml": "python: 3.11.7"}
    )
    assert (found.root, found.loader, found.file, found.form) == ("flowers", "sklearn", "model.pkl", "cloudpickle")
    assert found.requirements == ("scikit-learn==1.8.0", "numpy==2.1")
    assert (found.python, found.method) == ("3.11", "predict_proba")
    assert [each["name"] for each in found.signature["inputs"]] == ["a", "b"]
    told = json.loads(found.told)
    assert told["file"] == "model.pkl"
    assert "requirements" not in told


def test_code_of_its_own_needs_mlflow() -> None:
    text = SKLEARN.replace("code: null", "code: code")
    found = read(**{"MLmodel": text, "model.pkl": "", "requirements.txt": REQUIREMENTS})
    assert found.loader == "mlflow"
    assert found.requirements[0] == "mlflow==2.9"
    assert found.python == "3.10"


def test_older_folders_have_a_conda_file_alone() -> None:
    conda = "dependencies:\n- python=3.8.5\n- pip:\n  - mlflow\n  - scikit-learn==0.24.2\n"
    found = read(**{"MLmodel": SKLEARN, "model.pkl": "", "conda.yaml": conda})
    assert (found.requirements, found.python) == (("scikit-learn==0.24.2",), "3.8")


def test_onnx_and_tensorflow_are_loaded_by_themselves() -> None:
    onnx = "flavors:\n  onnx: {data: model.onnx}\n  python_function: {loader_module: mlflow.onnx}\n"
    assert read(**{"MLmodel": onnx, "model.onnx": ""}).loader == "onnx"
    keras = "flavors:\n  tensorflow: {data: data, model_type: keras}\n  python_function: {loader_module: mlflow.tensorflow}\n"
    found = read(**{"MLmodel": keras, "data/model.keras": "", "data/keras_module.txt": ""})
    assert (found.loader, found.file) == ("tensorflow", "data/model.keras")


def test_what_is_no_folder_of_mlflows_is_said() -> None:
    with pytest.raises(InvalidEndpoint, match="names no flavour"):
        read(MLmodel="a: 1")
    with pytest.raises(InvalidEndpoint, match="cannot be read"):
        read(MLmodel="a: [")
    with pytest.raises(InvalidEndpoint, match="no python_function"):
        read(MLmodel="flavors: {spark: {model_data: sparkml}}")
