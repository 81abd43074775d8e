"""A foreign `azureml` beside Roost's is found without importing anything, and told on import; never inside a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree

import azureml
from roost_job import neighbours

IMPORT = "import azureml; print('imported')"


def test_foreign_distributions_are_found(tmp_path: Path) -> None:
    tree(tmp_path, {"azureml_core-1.57.0.dist-info/METADATA": "", "azureml_sdk-1.57.0.dist-info/METADATA": ""})
    tree(tmp_path, {"azureml/__init__.py": "", "numpy-2.0.dist-info/METADATA": ""})
    found = neighbours.find([str(tmp_path), str(tmp_path), str(tmp_path / "nothing")])
    assert found == [("azureml-core-1.57.0", str(tmp_path)), ("azureml-sdk-1.57.0", str(tmp_path))]
    fact, hint = neighbours.words(found, False)
    assert "azureml-core-1.57.0" in fact
    assert "pip uninstall -y azureml-core azureml-sdk" in hint


def test_one_folder_with_files_of_both(tmp_path: Path) -> None:
    tree(tmp_path, {"azureml/_lending.py": "", "azureml/core/__init__.py": ""})
    assert not neighbours.is_mixed([str(tmp_path / "azureml")])
    tree(tmp_path, {"azureml/_base_sdk_common/__init__.py": ""})
    assert neighbours.is_mixed([str(tmp_path / "azureml")])


def test_roost_alone_is_no_news() -> None:
    assert neighbours.find() == []
    assert not neighbours.is_mixed(list(azureml.__path__))


@pytest.mark.parametrize(("inside", "told"), [(False, True), (True, False)])
def test_importing_tells_of_it(tmp_path: Path, inside: bool, told: bool) -> None:
    tree(tmp_path, {"azureml_core-1.57.0.dist-info/METADATA": ""})
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), **({"ROOST_RUN_ID": "r"} if inside else {})}
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout == "imported\n"
    assert ("azureml-core-1.57.0 is installed beside Roost" in done.stderr) is told
    assert ("hint: " in done.stderr) is told
