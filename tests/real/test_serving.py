"""Models of real frameworks, served: each example of examples/serving is run as it is, and what the service answers is compared
with what the model predicted in the run that trained it. The first run downloads about 600 MB.
"""

import json
import runpy
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real import caches
from tests.shared.folders import tree
from tests.shared.interpreters import python

from azureml.core.conda_dependencies import CondaDependencies
from roost import Environment, Experiment, Model, Run, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "serving"
TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is downloaded is kept for the next time; the examples find what they share."""
    caches.keep_builds(monkeypatch)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    python("3.11")
    yield
    sys.modules.pop("training", None)


def run_example(name: str) -> dict[str, Any]:
    """The names that the example leaves behind."""
    return runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def served(workspace: Workspace, model: Model, name: str, body: object) -> Any:
    service = Model.deploy(workspace, name, [model])
    service.wait_for_deployment(show_output=True)
    try:
        with urllib.request.urlopen(service.swagger_uri, timeout=60) as answer:
            described = json.dumps(json.load(answer))
        assert '"example"' in described  # from the model's own signature
        return service.run(json.dumps(body))
    finally:
        service.delete()


def test_a_tensorflow_model_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    left = run_example("tensorflow_no_code.py")
    assert left["run"].get_metrics()["accuracy"][-1] > 0.9
    assert left["apart"] < TOLERANCE
    assert len(left["answer"]["predictions"]) == 3
    assert left["model"].version == 1
    assert "registered for TensorFlow 2.0, and served with 2.21.0" in capsys.readouterr().err


def test_a_pytorch_model_with_an_entry_script() -> None:
    assert run_example("pytorch_entry_script.py")["apart"] < TOLERANCE


def test_pytorch_to_onnx_in_the_job_and_by_the_registry() -> None:
    left = run_example("pytorch_onnx.py")
    assert {name: value < TOLERANCE for name, value in left["apart"].items()} == {
        "exported": True,
        "scripted": True,
        "converted": True,
    }
    assert left["converted"].parent_id == left["scripted"].id
    assert left["converted"].run.experiment.name == "onnx-export"


def test_a_scikit_learn_model(workspace: Workspace) -> None:
    left = run_example("sklearn_no_code.py")
    expected = left["expected"]
    assert left["answer"] == {"predict": expected["predict"]}
    for given, wanted in zip(left["likely"]["predict_proba"], expected["predict_proba"], strict=True):
        assert given == pytest.approx(wanted, abs=TOLERANCE)

    converted = left["model"].to_onnx(sample_input=expected["rows"], name="flowers-as-onnx")
    answer = served(workspace, converted, "flowers-onnx", {"instances": expected["rows"]})
    assert [row["label"] for row in answer["predictions"]] == expected["predict"]


def test_mlflow_folders(workspace: Workspace, tmp_path: Path) -> None:
    left = run_example("mlflow_folder.py")
    assert left["answers"]["flowers"] == left["expected"]["predict"]
    for given, row in zip(left["answers"]["shares"], left["expected"]["rows"], strict=True):
        assert list(given.values()) == pytest.approx([value / sum(row.values()) for value in row.values()])

    run: Run = left["run"]
    run.download_files(prefix="outputs/flowers", output_directory=str(tmp_path / "flowers"), append_prefix=False)
    brought = Model.register(workspace, str(tmp_path / "flowers"), "brought")  # no run: the folder says what it needs
    answer = served(workspace, brought, "brought", left["expected"]["rows"])
    assert answer == left["expected"]["predict"]


OLD = """
import os
import numpy
from azureml.core import Run
from sklearn.externals import joblib
from sklearn.linear_model import Ridge

os.makedirs("outputs", exist_ok=True)
model = Ridge().fit(numpy.arange(10.0).reshape(5, 2), numpy.arange(5.0))
joblib.dump(model, "outputs/model.pkl")
Run.get_context().log("predicted", float(model.predict([[1.0, 2.0]])[0]))
"""


@pytest.mark.parametrize("beside", [(), ("joblib",)])
def test_a_scikit_learn_model_that_its_own_joblib_saved(
    workspace: Workspace, tmp_path: Path, beside: tuple[str, ...]
) -> None:
    """As before scikit-learn 0.23; another joblib in the environment reads no array of it."""
    python("3.7")
    tree(tmp_path / "old", {"train.py": OLD})
    environment = Environment("old-sklearn")
    environment.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["azureml-defaults", "scikit-learn==0.20.4", "numpy<1.20", *beside], python_version="3.7"
    )
    run = Experiment(workspace, "old").submit(
        ScriptRunConfig(str(tmp_path / "old"), script="train.py", environment=environment)
    )
    run.wait_for_completion(show_output=True)
    model = run.register_model(
        "old-net", "outputs/model.pkl", model_framework="ScikitLearn", model_framework_version="0.20.4"
    )
    service = Model.deploy(workspace, "old-net", [model])
    service.wait_for_deployment(show_output=True)
    (predicted,) = service.run(json.dumps({"data": [[1.0, 2.0]]}))["predict"]
    assert abs(predicted - run.get_metrics()["predicted"]) < TOLERANCE
    service.delete()
