"""`roost doctor`: what it finds in a good home, in a bad one, beside a foreign package; it starts nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import ROOST
from tests.cli.test_cli import roost
from tests.shared.folders import tree

from roost.environments import places


def findings(code: int = 0) -> dict[str, Any]:
    done = subprocess.run([ROOST, "doctor", "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)}


@pytest.fixture
def own_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another user's places, which the shell of whoever runs the tests may have in its variables."""
    for variable, shut in places.closed().items():
        kept = [part for part in os.environ[variable].split(os.pathsep) if part not in shut]
        monkeypatch.setenv(variable, os.pathsep.join(kept))


class TestWithoutAControlPlane:
    @pytest.mark.usefixtures("own_places")
    def test_it_starts_nothing(self, home: Path) -> None:
        found = findings()
        assert found["control plane"]["fact"].startswith("None runs")
        assert {each["level"] for each in found.values()} == {"ok"}
        assert sys.executable.rpartition("/")[0] in found["roost"]["fact"]
        assert not home.exists()

    def test_it_says_whose_processes_runs_are(self, home: Path) -> None:
        found = findings()["jobs"]
        assert "a script can read its token, its database and the key of all secrets" in found["fact"]
        assert found["level"] == "ok" and "docs/guides/secrets.md" in found["hint"]

    def test_a_foreign_package_is_explained(self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tree(tmp_path, {"site/azureml_core-1.57.0.dist-info/METADATA": "", "site/azureml/__init__.py": ""})
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
        found = findings(code=1)["azureml"]
        assert found["level"] == "bad"
        assert "azureml-core-1.57.0 is installed beside Roost" in found["fact"]
        assert "not Roost's" in found["fact"]
        assert "pip uninstall -y azureml-core" in found["hint"]

    def test_a_disk_that_is_too_full(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_DISK_LIMIT", "1")
        assert findings(code=1)["disk"]["level"] == "bad"
        monkeypatch.setenv("ROOST_DISK_LIMIT", "much")
        assert "% full" in findings()["disk"]["fact"]

    def test_where_conda_packages_come_from(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert findings()["conda packages"]["fact"].endswith("(index-if-unreachable).")
        monkeypatch.setenv("ROOST_CONDA_PACKAGES", "pypi")
        found = findings(code=1)["conda packages"]
        assert "'pypi'" in found["fact"] and "channels-only" in found["hint"]

    def test_a_control_plane_that_does_not_answer(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("ROOST_TOKEN", "t")
        found = findings(code=1)["control plane"]
        assert "No control plane answers" in found["fact"] and "ROOST_URL" in found["hint"]
        monkeypatch.setenv("ROOST_TOKEN", "to\nken")
        assert "ROOST_TOKEN" in findings(code=1)["control plane"]["fact"]

    def test_containers(self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
        found = findings()["containers"]
        assert found["level"] == "warn" and "nobody.sock" in found["fact"] and "DOCKER_HOST" in found["hint"]

    def test_a_home_that_others_can_read(self, home: Path) -> None:
        home.mkdir(mode=0o755)
        home.chmod(0o755)
        assert findings()["home"]["hint"] == f"chmod 700 {home}"


@pytest.mark.slow
@pytest.mark.usefixtures("own_places")
def test_all_is_well(home: Path, tmp_path: Path) -> None:
    roost("up")
    tree(tmp_path, {"train.py": "print(1)"})
    roost("submit", "train.py")
    found = findings()
    assert {each["level"] for each in found.values()} == {"ok"}, found
    assert {"roost", "azureml", "home", "disk", "control plane", "clock", "engine"} <= set(found)
    text = roost("doctor")
    assert text.startswith("ok   roost ")
    roost("down")
    assert "that of the last time, is free" in findings()["port"]["fact"]
