"""What the examples here share: a run that trains with PyTorch, its environment, and what a run's own model predicted."""

import json
import tempfile
from pathlib import Path

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

SCRIPTS = str(Path(__file__).parent / "scripts")


def torch_environment() -> Environment:
    made = Environment("pytorch-serving")
    packages = ["azureml-defaults", "torch==2.13.0", "numpy", "onnx", "onnxscript"]
    made.python.conda_dependencies = CondaDependencies.create(pip_packages=packages, python_version="3.11")
    return made


def train(ws: Workspace) -> Run:
    src = ScriptRunConfig(source_directory=SCRIPTS, script="pytorch_train.py", environment=torch_environment())
    run = Experiment(workspace=ws, name="pytorch-serving").submit(src)
    run.wait_for_completion(show_output=True)
    return run


def expected_of(run: Run) -> dict:
    """What the run's own model gave for a few rows."""
    with tempfile.TemporaryDirectory() as folder:
        run.download_file("outputs/expected.json", folder)
        return json.loads(Path(folder, "expected.json").read_text())


def largest_difference(one: list, other: list) -> float:
    rows = zip(one, other, strict=True)
    return max(abs(a - b) for left, right in rows for a, b in zip(left, right, strict=True))
