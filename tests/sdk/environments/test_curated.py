"""Curated environments in the SDK's own shape: had by Azure's names, listed, saved, cloned; nothing of them is registered."""

import json
from pathlib import Path

import pytest

from roost import Environment, Workspace
from roost.domain.errors import NotFound
from roost.domain.recipes import recipe
from roost.sdk.environments import curated
from roost_job.exceptions import UserErrorException


def test_had_by_name(workspace: Workspace) -> None:
    made = Environment.get(workspace=workspace, name="AzureML-sklearn-0.24-ubuntu18.04-py37-cpu")
    assert (made.name, made.version) == ("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "1")
    assert made.python.conda_dependencies.get_python_version() == "3.7"
    assert "scikit-learn==0.24.2" in list(made.python.conda_dependencies.pip_packages)
    with pytest.raises(NotFound, match="DeepSpeed"):
        Environment.get(workspace, "AzureML-DeepSpeed-0.3-GPU")


def test_another_version_than_the_catalogues_says_so_in_its_recipe(workspace: Workspace) -> None:
    made = Environment.get(workspace, "AzureML-Minimal", version="33")
    found = recipe(made._definition())
    assert found is not None
    assert any("version 33" in note for note in found.notes)
    assert json.loads(repr(made))["notes"] == list(found.notes)
    assert Environment.get(workspace, "AzureML-Minimal", label="latest").version == "1"
    with pytest.raises(UserErrorException, match="label"):
        Environment.get(workspace, "AzureML-Minimal", label="blessed")


def test_listed_beside_registered_ones_and_found_by_pattern(workspace: Workspace) -> None:
    Environment("mine").register(workspace)
    known = workspace.environments
    assert {"mine", "AzureML-Minimal", "AzureML-PyTorch-1.6-GPU", "AzureML-TensorFlow-2.2-GPU"} <= known.keys()
    unlisted = "AzureML-PyTorch-1.9-CU11-ubuntu18.04-Py37"
    assert unlisted not in known
    assert "torch==1.9.1" in list(known[unlisted].python.conda_dependencies.pip_packages)
    with pytest.raises(KeyError):
        known["theirs"]


def test_saved_loaded_cloned_and_never_registered(workspace: Workspace, tmp_path: Path) -> None:
    made = Environment.get(workspace, "AzureML-Minimal", version="7")
    made.save_to_directory(str(tmp_path / "saved"))
    again = Environment.load_from_directory(str(tmp_path / "saved"))
    assert again._definition() == made._definition()
    assert (tmp_path / "saved" / "conda_dependencies.yml").is_file()
    with pytest.raises(UserErrorException, match="AzureML"):
        made.register(workspace)
    own = made.clone(new_name="mine")
    assert "notes" not in own._definition()
    assert own.register(workspace).version == "1"


def test_with_a_control_plane_elsewhere_the_catalogue_decides_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", "http://control.example")
    assert curated.find("AzureML-TensorFlow-2.2-GPU").requirements[0] == "tensorflow-gpu==2.2.0"
