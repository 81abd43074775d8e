"""Builds that meet trouble, and many at once: what a run tells, that nothing half-made is used, and that the next try works. The
packages come from a folder made here; nothing calls out.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.environments.test_wheels import RULES
from tests.journeys.test_submit import gone, until
from tests.shared import disks, wheels
from tests.shared.folders import tree

from roost import Environment, Experiment, Run, ScriptRunConfig
from roost.domain.environments import BUILD_LOG
from roost.sdk.calls import run_records
from roost_job.exceptions import ActivityFailedException

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SCRIPT = """
import sys
import lower
from azureml.core import Run

run = Run.get_context()
run.log("lower", lower.VERSION)
run.log("prefix", sys.prefix)
"""
Submit = Callable[..., Run]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Before anything is started: the control plane and its agents inherit what pip is told here."""
    made = wheels.machine(tmp_path, monkeypatch)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    wheels.wheel(made, "lower", "2.0")
    return made


@pytest.fixture
def submit(shelf: Path, experiment: Experiment, tmp_path: Path) -> Submit:
    source = tree(tmp_path / "src", {"train.py": SCRIPT})

    def send(*packages: str) -> Run:
        made = Environment("mine")
        made.python.conda_dependencies.set_python_version(HERE)
        made.python.conda_dependencies.set_pip_requirements(list(packages))
        return experiment.submit(ScriptRunConfig(str(source), script="train.py", environment=made))

    return send


def failure(run: Run) -> str:
    with pytest.raises(ActivityFailedException) as caught:
        run.wait_for_completion()
    return str(caught.value)


def test_ten_runs_at_once_build_it_once(submit: Submit, shelf: Path, tmp_path: Path, home: Path) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    runs = [submit("lower", "slow") for _ in range(10)]
    until((tmp_path / "sign.pid").exists)
    (tmp_path / "sign").touch()
    for run in runs:
        run.wait_for_completion()
    assert {run.get_metrics("lower")["lower"] for run in runs} == {"2.0"}
    assert len({run.get_metrics("prefix")["prefix"] for run in runs}) == 1
    assert sum(BUILD_LOG in run.get_file_names() for run in runs) == 1
    assert len(list((home / "envs").glob("[!.]*"))) == 1


def test_a_compilation_is_killed_in_the_middle(submit: Submit, shelf: Path, tmp_path: Path, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "build-rules.toml").write_text(RULES)
    sign = tmp_path / "sign"
    for name in ("upper", "helper"):
        wheels.wheel(shelf, name, "1.0")
    wheels.sdist(shelf, "rack", "1.0", sign, against="upper")
    run = submit("rack", "upper")
    until(Path(f"{sign}.pid").exists)
    compiler = int(Path(f"{sign}.pid").read_text())
    os.kill(json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: gone(compiler))
    assert not list((home / "cache" / "wheels").glob("*/*.whl"))
    sign.touch()
    run.wait_for_completion()
    events, _ = run_records.events(run._connection.client, run.id)
    assert "build_lost" in [event.reason.value for event in events]
    assert len(list((home / "cache" / "wheels").glob("*/rack-1.0-*.whl"))) == 1
    wheels.wheel(shelf, "another", "1.0")
    submit("rack", "upper", "another").wait_for_completion()
    assert Path(f"{sign}.builds").read_text() == "1.0 upper\n", "another environment with the same pair takes the wheel"


def test_cancelled_when_its_build_agent_is_dead(submit: Submit, shelf: Path, tmp_path: Path, home: Path) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    run = submit("slow")
    until((tmp_path / "sign.pid").exists)
    builder = int((tmp_path / "sign.pid").read_text())
    os.kill(json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: gone(builder))
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    until(lambda: not (home / "runs" / run.id).exists())


def test_an_index_that_is_away(submit: Submit, shelf: Path, tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    before = config.read_text()
    config.write_text(
        "[global]\nindex-url = http://ann:open-sesame@127.0.0.1:9/simple\nextra-index-url =\nfind-links =\n"
    )
    run = submit("lower")
    told = failure(run)
    assert "could not be reached" in told
    log = run._connection.client.fetch("GET", f"/api/runs/{run.id}/files/{BUILD_LOG}").body.decode()
    for text in (told, log):
        assert "open-sesame" not in text
        assert "127.0.0.1:9" not in text
    config.write_text(before)
    submit("lower").wait_for_completion()


def test_a_wheel_that_was_changed_is_not_installed(submit: Submit, shelf: Path, tmp_path: Path, home: Path) -> None:
    submit("lower").wait_for_completion()
    (prefix,) = (home / "envs").glob("[!.]*")
    shutil.rmtree(prefix)
    shutil.rmtree(tmp_path / "cache")
    first = (shelf / "lower-2.0-py3-none-any.whl").read_bytes()
    changed = wheels.wheel(shelf, "lower", "2.0", files={"lower.py": "VERSION = 'evil'\n"})
    told = failure(submit("lower"))
    assert "not the one that was locked" in told
    changed.write_bytes(first)
    run = submit("lower")
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}


@pytest.fixture
def disk(home: Path) -> Iterator[Path]:
    """The environments of this home are on a disk of 2 MB."""
    with disks.small_disk(home / "envs", "2m") as place:
        yield place


def test_a_full_disk(disk: Path, submit: Submit, shelf: Path) -> None:
    wheels.wheel(shelf, "large", "1.0", files={"large.py": f"WORDS = {'x' * 8_000_000!r}\n"})
    told = failure(submit("lower", "large"))
    assert "No space left" in told
    assert "The disk is full" in told
    disks.enlarge(disk, "64m")
    run = submit("lower", "large")
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}
