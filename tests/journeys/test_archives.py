"""Environments that are kept: every file of a lock, installed from when the index is gone, carried by back-ups, given back. The
packages come from a folder made here, which is deleted before anything is installed from what is kept.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli import commands
from tests.cli.test_cli import roost
from tests.conftest import end_all
from tests.journeys.test_submit import until
from tests.journeys.test_upkeep import age
from tests.shared import channels, wheels
from tests.shared.folders import tree

from roost import Environment, Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.environments import BUILD_LOG
from roost.domain.errors import InvalidInput, NotFound
from roost.environments import pythons
from roost.sdk.calls import run_records
from roost.sdk.operations import archives, building, upkeep
from roost.sdk.runs import repeats, waiting

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))
SCRIPT = """
import sys
import lower
from azureml.core import Run

run = Run.get_context()
run.log("lower", lower.VERSION)
run.tag("prefix", sys.prefix)
"""
Submit = Callable[..., Run]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Before anything is started: the control plane and its agents inherit what pip is told here."""
    made = wheels.machine(tmp_path, monkeypatch)
    wheels.wheel(made, "lower", "2.0")
    return made


@pytest.fixture
def submit(shelf: Path, workspace: Workspace, tmp_path: Path) -> Submit:
    source = tree(tmp_path / "src", {"train.py": SCRIPT})

    def send(*packages: str) -> Run:
        made = Environment("mine")
        made.python.conda_dependencies.set_python_version(HERE)
        made.python.conda_dependencies.set_pip_requirements(["lower", *packages])
        return Experiment(workspace, "tests").submit(ScriptRunConfig(str(source), script="train.py", environment=made))

    return send


def forget(home: Path, *places: Path) -> None:
    """The node has nothing any more of what it has ever fetched or installed."""
    for place in (home / "envs", home / "cache", *places):
        shutil.rmtree(place, ignore_errors=True)


def build_log(run: Run) -> str:
    return waiting.Tail(run._connection.client, run.id, BUILD_LOG).read(0.0)


def test_kept_shown_repeated_without_its_index_and_given_back(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace, tmp_path: Path
) -> None:
    run = submit()
    run.wait_for_completion()
    lock = repeats.lock_of(run._connection, run.id)
    assert "Its files are not kept; to keep them, so that no index is needed later: roost env archive mine\n" in roost(
        "env", "show", "mine"
    )
    said = roost("run", "repeat", run.id, "--offline", code=1)
    assert "Nothing is kept of environment 'mine'" in said and "roost env archive mine" in said
    told = roost("env", "archive", "mine")
    assert told == f"Kept: 4 files, {told.split(', ')[1]}, complete; needs Python {EXACT} on the machine.\n"
    assert told.strip() in roost("env", "show", "mine")
    assert json.loads(roost("env", "show", "mine", "--json"))["build"]["archive"]["complete"] is True
    assert roost("env", "archive", "--run", run.id) == told, "what is complete is not looked after again"
    (listed,) = json.loads(roost("env", "archive", "--list", "--json"))
    assert (listed["name"], listed["lock"], listed["files"]) == ("mine", lock, 4)
    assert EXACT in roost("env", "archive", "--list"), "the Python that the machine has to have"
    assert upkeep.usage(workspace._connection)["archive_bytes"] >= listed["bytes"]
    assert "archives" in roost("du")
    age(home)
    assert upkeep.sweep(workspace._connection)["blobs"] == 0, "what is kept is not swept"
    forget(home, shelf, tmp_path / "cache")
    again = run.repeat(offline=True)
    again.wait_for_completion()
    assert again.get_metrics() == {"lower": "2.0"}
    assert again.get_tags()["prefix"] == run.get_tags()["prefix"], "the same lock, the same prefix"
    assert repeats.lock_of(again._connection, again.id) == lock
    assert not list((home / "runs").glob("*/kept"))
    forget(home, tmp_path / "cache")
    roost("env", "build", "mine", "--offline")
    assert "will be kept no longer" in roost("env", "archive", "--remove", "mine", code=1), "it asks first"
    assert "Kept no longer." in roost("env", "archive", "--remove", lock[:12], "--yes")
    age(home)
    assert upkeep.sweep(workspace._connection)["bytes"] >= listed["bytes"]
    assert "Nothing is kept yet" in roost("env", "archive", "--list")
    assert "Nothing is kept of 'mine'" in roost("env", "archive", "--remove", "mine", "--yes", code=1)


def test_a_backup_carries_it_to_another_machine(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit()
    run.wait_for_completion()
    kept = run.get_environment().archive(workspace)
    assert (kept["complete"], kept["files"], kept["missing"]) == (True, 4, [])
    roost("backup", str(tmp_path / "all.roost.tar"))
    end_all(home)
    other = tmp_path / "o"
    roost("restore", str(tmp_path / "all.roost.tar"), "--into", str(other))
    forget(home, shelf, tmp_path / "cache")
    monkeypatch.setenv("ROOST_HOME", str(other))
    try:
        again = json.loads(roost("run", "repeat", run.id, "--offline", "--json"))
        assert again["status"] == "Completed"
        assert str(other) in again["tags"]["prefix"]
    finally:
        end_all(other)


def test_what_is_gone_from_the_index_is_named_and_nothing_is_installed_from_half_of_it(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace
) -> None:
    run = submit()
    run.wait_for_completion()
    wheel = next(shelf.glob("lower-*.whl"))
    aside = wheel.rename(shelf.parent / wheel.name)
    said = json.loads(_failed("env", "archive", "mine", "--json"))
    assert said["complete"] is False and said["files"] == 3
    assert [each.partition(":")[0] for each in said["missing"]] == ["lower==2.0"]
    assert "not complete, 1 file missing" in roost("env", "show", "mine")
    with pytest.raises(InvalidInput, match=r"not complete\. Missing: lower==2\.0"):
        run.repeat(offline=True)
    aside.rename(wheel)
    assert run.get_environment().archive(workspace)["complete"], "what was missing is looked for again"


def _failed(*words: str) -> str:
    """What a command prints that ends with 1."""
    done = commands.run([*words])
    assert done.returncode == 1, (done.stdout, done.stderr)
    return done.stdout


def test_an_agent_that_is_killed_while_it_keeps_is_sent_again(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    sign.touch()
    wheels.sdist(shelf, "rack", "1.0", sign)
    run = submit("rack")
    run.wait_for_completion()
    sign.unlink()
    Path(f"{sign}.pid").unlink()
    connection = workspace._connection
    lock = repeats.lock_of(connection, run.id)
    keeping = archives.building.build(archives._with(run.get_environment(), lock, archive=True), workspace)
    until(Path(f"{sign}.pid").exists)
    os.kill(json.loads((home / "runs" / keeping.id / "agent.json").read_text())["pid"], signal.SIGKILL)
    sign.touch()
    keeping.wait_for_completion()
    events, _ = run_records.events(connection.client, keeping.id)
    assert "build_lost" in [event.reason.value for event in events]
    found = archives.find(connection, lock)
    assert found is not None and found.complete and found.files == 6


def test_a_setting_keeps_what_every_build_is_made_of(
    monkeypatch: pytest.MonkeyPatch, home: Path, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("ROOST_ARCHIVE_BUILDS", "1")
    run = request.getfixturevalue("submit")()
    run.wait_for_completion()
    assert "Kept for installing without a network: 4 files" in build_log(run)
    found = archives.find(run._connection, repeats.lock_of(run._connection, run.id))
    assert found is not None and found.complete


def test_conda_packages_that_the_index_stood_in_for(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_all(home)  # that it sees the settings of this machine's conda
    channels.machine(tmp_path, monkeypatch)
    file = tmp_path / "conda.yml"
    named = {"channels": ["http://127.0.0.1:9/team", "nodefaults"], "dependencies": [f"python={HERE}", "lower"]}
    file.write_text(json.dumps({"name": "birds", **named}))
    ws = Workspace()
    made = Environment.from_conda_specification("birds", str(file))
    kept = made.archive(ws)
    assert kept["complete"] and kept["python"] == EXACT, "the interpreter is one of the machine's"
    lock = building.standing(made, ws).lock
    assert kept["lock"] == lock
    forget(home, shelf, tmp_path / "cache")
    built = made.build(ws, offline=True)
    built.wait_for_completion()
    assert repeats.lock_of(ws._connection, built.id) == lock
    text = repeats.lock_text(ws._connection, built.id)
    assert "# source index\n# note From the package index instead of conda" in text


def test_conda_packages_without_their_channel(
    submit: Submit, shelf: Path, home: Path, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_all(home)  # that it sees the settings of this machine's conda
    channel = tmp_path / "channel"
    channels.machine(tmp_path, monkeypatch)
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    channels.module(channel, "upper", "1.0")
    file = tmp_path / "conda.yml"
    file.write_text(
        json.dumps(
            {
                "name": "birds",
                "channels": [str(channel), "nodefaults"],
                "dependencies": [f"python={HERE}", "upper", {"pip": ["lower"]}],
            }
        )
    )
    ws = Workspace()
    made = Environment.from_conda_specification("birds", str(file))
    kept = made.archive(ws)
    assert kept["complete"] and kept["python"] == "", "the interpreter is among the files"
    forget(home, shelf, channel, tmp_path / "cache")
    built = made.build(ws, offline=True)
    built.wait_for_completion()
    assert built.get_status() == "Completed"
    with pytest.raises(NotFound, match="is not locked yet"):
        Environment("never").build(ws, offline=True)
