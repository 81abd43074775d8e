"""A wheel of Roost, installed into an empty environment elsewhere, without the source in sight: it has every file, and passes the
first run as a new user's."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import uv

from roost.environments.pip import settings

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
DATA = """
from roost.environments.curated import catalogue, resolving
from roost.environments.pip import compiling
assert compiling.load().packages
assert catalogue.frameworks() and catalogue.kinds() and catalogue.names()
print(resolving.resolve(catalogue.names()[0]).name)
"""
WHERE = """
import azureml.core, roost, roost_job
from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
print(azureml.core.__file__, roost.__file__, roost_job.__file__, sep="\\n")
"""


def run(argv: list[str], folder: Path, **more: str) -> str:
    """What a program says in an environment that knows nothing of this tree."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "ROOST_"))
    }
    environment = settings.usable({**own, **settings.read().variables, **more})
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, for a build leaves its folders beside the source."""
    place = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    run([uv.find_uv_bin(), "build", "--quiet", "--wheel", "--out-dir", str(place / "dist"), str(place)], place)
    (made,) = (place / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new user's: `bin/` has what the wheel and its dependencies brought."""
    return _installed(f"{wheel}[server]", tmp_path_factory.mktemp("elsewhere"))


def _installed(what: str, folder: Path) -> Path:
    program = uv.find_uv_bin()
    base = str(getattr(sys, "_base_executable", sys.executable))
    run([program, "venv", "--quiet", "--no-project", "--python", base, str(folder / "venv")], folder)
    words = [
        "--quiet",
        "--python",
        str(folder / "venv" / "bin" / "python"),
        "--constraint",
        str(ROOT / "constraints.txt"),
    ]
    run([program, "pip", "install", *words, what], folder)
    return folder / "venv" / "bin"


def test_it_has_every_file_and_no_other(wheel: Path) -> None:
    source = ROOT / "src"
    ours = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not any(".egg-info" in part for part in path.parts)
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours


def test_what_is_imported_is_the_installed_one(elsewhere: Path, tmp_path: Path) -> None:
    files = run([str(elsewhere / "python"), "-c", WHERE], tmp_path).split()
    assert [file for file in files if not file.startswith(str(elsewhere.parent))] == []
    assert run([str(elsewhere / "python"), "-c", DATA], tmp_path).strip()


@pytest.fixture
def new_home(elsewhere: Path, tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "h"
    yield place
    run([str(elsewhere / "roost"), "down"], tmp_path, ROOST_HOME=str(place))


def test_the_first_run(elsewhere: Path, new_home: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(ROOT / "examples" / "train", mine / "train")
    shutil.copy(ROOT / "examples" / "demo.py", mine)
    said = run([str(elsewhere / "python"), "demo.py"], mine, ROOST_HOME=str(new_home))
    found = re.search(r"RunId: (\S+)", said)
    assert found and f"{found[1]} ended Completed" in said
    assert (mine / "demo-outputs" / "model.json").exists()
    shown = run([str(elsewhere / "roost"), "run", "show", found[1]], mine, ROOST_HOME=str(new_home))
    assert "Completed" in shown
    url = json.loads((new_home / "server.json").read_text())["url"]
    page = _fetched(f"{url}/runs/{found[1]}")
    names = set(re.findall(r"/studio/([\w.-]+)", page))
    assert {"studio.css", "run.js"} <= names
    assert all(_fetched(f"{url}/studio/{name}") for name in names)


def _fetched(url: str) -> str:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_help_without_the_server_s_packages(wheel: Path, tmp_path: Path) -> None:
    """The client alone: what a notebook or a build machine installs."""
    bin_folder = _installed(str(wheel), tmp_path)
    assert "submit" in run([str(bin_folder / "roost"), "--help"], tmp_path)
    assert run([str(bin_folder / "python"), "-c", WHERE], tmp_path)
