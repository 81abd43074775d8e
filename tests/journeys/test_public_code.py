"""Calls of the public example notebooks of the Azure ML SDK v1, in their order and their words: what they rely on without saying
so is there. Data and scripts are small; everything else is as people wrote it."""

import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree

pytestmark = pytest.mark.slow

TABLES = """
import azureml.core
import urllib
from datetime import datetime
from azureml.core import Dataset, Datastore, Workspace

print("This notebook was created using version", azureml.core.VERSION, azureml.data.__version__)
ws = Workspace.from_config()
datastore = ws.get_default_datastore()
datastore.upload(src_dir=".", target_path=".", overwrite=True, show_progress=False)
datastore.upload_files(files=["./people.csv"], target_path="train-dataset/tabular/", overwrite=True, show_progress=False)
dataset = Dataset.Tabular.from_delimited_files(path=[(datastore, "train-dataset/tabular/people.csv")])
dataset = dataset.drop_columns(["Age", "Cabin"]).register(workspace=ws, name="people", create_new_version=True)
assert list(dataset.to_pandas_dataframe().columns) == ["Id", "When"]
lines = Dataset.Tabular.from_delimited_files((datastore, "notes.txt"), separator="\\n", header=False)
assert lines.to_pandas_dataframe()["Column1"].tolist() == ["one, two", "three"]
try:
    dataset.time_after(datetime(2019, 1, 1))
except azureml.exceptions.DatasetTimestampMissingError:
    dataset = dataset.with_timestamp_columns(timestamp="When")
assert len(dataset.time_after(datetime(2019, 1, 2)).to_pandas_dataframe()) == 1
assert urllib.parse.urlparse("http://a/b").path == "/b"
"""

TRAINING = """
import os
from azureml.core import Dataset, Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, choice
from azureml.widgets import RunDetails

ws = Workspace.from_config()
datastore = ws.get_default_datastore()
files = Dataset.File.upload_directory("data", target=(datastore, "data"), overwrite=True, show_progress=False)
env = Environment("user-managed-env")
env.python.user_managed_dependencies = True
env.python.interpreter_path = PYTHON
src = ScriptRunConfig("src", script="train.py", arguments=["--data", files.as_named_input("d").as_mount()], environment=env)
run = Experiment(workspace=ws, name="train-on-local").submit(config=src)
RunDetails(run).show()
run.wait_for_completion(show_output=False)
assert run.get_metrics() == {"files": 1}, run.get_metrics()
model = run.register_model(
    model_name="net",
    model_path="outputs/model.pkl",
    model_framework=Model.Framework.SCIKITLEARN,
    model_framework_version="0.24",
    sample_input_dataset=files,
    resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
)
assert Model(ws, "net").sample_input_dataset.to_path() == files.to_path()
assert [each.id for each in Run.list(run.experiment)] == [run.id]
"""
SCRIPT = """
import argparse, os
import azureml.core
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--data")
run = azureml.core.run.Run.get_context()
run.log("files", len(os.listdir(parser.parse_args().data)))
os.makedirs("outputs", exist_ok=True)
open("outputs/model.pkl", "w").close()
"""


def test_the_tutorial_of_tables(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = "Id,When,Age\n1,2019-01-01,3\n2,2019-01-03,4\n"
    monkeypatch.chdir(tree(tmp_path / "work", {"people.csv": people, "notes.txt": "one, two\nthree\n"}))
    exec(TABLES, {})


def test_training_and_registering(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(tmp_path / "work", {"data/a.csv": "a\n1\n", "src/train.py": SCRIPT}))
    exec(TRAINING, {"PYTHON": sys.executable})
