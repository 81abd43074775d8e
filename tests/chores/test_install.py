"""`tools/install.py`, which makes .venv: with uv, told what pip is set up with; with pip where there is no uv, or it fails.

A small project stands for this one, built by a backend of its own, so that nothing is downloaded.
"""

import ensurepip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import skips

ROOT = Path(__file__).parents[2]
BUNDLED = Path(ensurepip.__file__).parent / "_bundled"
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "small"
version = "1"
"""
BACKEND = """
import os, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(os.path.join(folder, "small-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("small.py", "")
        wheel.writestr("small-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n")
        wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("small-1.dist-info/RECORD", "")
    return "small-1-py3-none-any.whl"
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def bundled_pip() -> None:
    if not list(BUNDLED.glob("pip-*.whl")):
        skips.skip("pip", "this Python has no pip of its own (python3-venv)")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "install.py", folder / "tools")
    (folder / "src").symlink_to(ROOT / "src")
    files = {"pyproject.toml": PYPROJECT, "backend.py": BACKEND, "constraints.txt": ""}
    for name, text in files.items():
        (folder / name).write_text(text)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(BUNDLED))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return folder


def install(project: Path) -> str:
    base = str(getattr(sys, "_base_executable", sys.executable))
    words = [base, str(project / "tools" / "install.py"), ".venv", "."]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    python = project / ".venv" / "bin" / "python"
    subprocess.run([python, "-c", "import small, pip"], check=True)
    return done.stdout


def test_uv_installs_from_where_pip_would(project: Path) -> None:
    (project.parent / "bin" / "uv").symlink_to(shutil.which("uv", path=str(Path(sys.executable).parent)) or "")
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(
        "/nowhere/python"
    )  # left of one that was killed, or of another Python
    said = install(project)
    assert "with pip" not in said
    assert "Making" in said and "Making" not in install(project), "a second time there is nothing to make"


def test_a_folder_with_anything_else_is_left_alone(project: Path) -> None:
    words = [sys.executable, str(project / "tools" / "install.py"), ".", "."]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1 and "is no virtual environment" in done.stderr
    assert (project / "backend.py").exists()


def test_pip_installs_where_uv_fails(project: Path) -> None:
    broken = project.parent / "bin" / "uv"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ]\n')
    broken.chmod(0o755)
    assert "uv cannot be had or failed here: installing with pip" in install(project)


def test_pip_installs_where_there_is_no_uv(project: Path) -> None:
    """None on PATH, and none that the index has."""
    assert "installing with pip" in install(project)
