"""What the tests of the job library share: a folder with nothing but the library in it, scripts run in it, spools read back."""

import os
import subprocess
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.roost_job.doors import FakeDoor

SOURCE = Path(__file__).parents[2] / "src"

RunScript = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """What an agent puts on a job's path: the job library and the import paths, without the SDK."""
    folder = tmp_path / "library"
    folder.mkdir()
    for package in ("roost_job", "azureml"):
        (folder / package).symlink_to(SOURCE / package)
    return folder


@pytest.fixture
def job_env(tmp_path: Path, library: Path) -> dict[str, str]:
    """The variables of a job's process."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(library),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "ROOST_RUN_ID": "train_1700000000_1a2b3c4d",
        "ROOST_SPOOL": str(tmp_path / "spool"),
        "ROOST_DOOR": str(tmp_path / "door.sock"),
        "ROOST_RANK": "3",
        "AZUREML_ARM_PROJECT_NAME": "train",
        "AZUREML_ARM_WORKSPACE_NAME": "vision",
        "AZUREML_ARM_SUBSCRIPTION": "sub",
        "AZUREML_ARM_RESOURCEGROUP": "group",
    }


@pytest.fixture
def run_script(tmp_path: Path) -> RunScript:
    """Runs a script's text with an interpreter; it must succeed."""

    def run(python: str, text: str, env: Mapping[str, str], check: bool = True) -> "subprocess.CompletedProcess[str]":
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(text), "utf-8")
        done = subprocess.run(
            [python, "-W", "error", str(script)],
            env=dict(env),
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def door(job_env: Mapping[str, str]) -> "FakeDoor":
    with FakeDoor(job_env["ROOST_DOOR"]) as door:
        yield door
