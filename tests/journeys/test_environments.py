"""Runs with environments: built once while people watch, found again, failing, cancelled and killed on the way. The packages
come from a folder of wheels made here; nothing calls out.
"""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.journeys.test_submit import gone, until
from tests.shared import wheels
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import Environment, Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.environments import BUILD_LOG, LOCK_FILE
from roost.domain.errors import RoostError
from roost.machine.processes import known, look
from roost.sdk.calls import run_records
from roost.sdk.connection import discovery
from roost.sdk.runs import repeats, waiting
from roost_job.exceptions import ActivityFailedException, UserErrorException

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SCRIPT = """
import os, sys
import lower
from azureml.core import Run

run = Run.get_context()
run.log("minor", sys.version_info[1])
run.log("lower", lower.VERSION)
run.tag("prefix", sys.prefix)
print("GREETING", os.environ.get("GREETING"))
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Before anything is started: the control plane and its agents inherit what pip is told here."""
    made = wheels.machine(tmp_path, monkeypatch)
    wheels.wheel(made, "lower", "2.0")
    return made


def environment(*packages: str, version: str = HERE) -> Environment:
    made = Environment("mine")
    made.python.conda_dependencies.set_python_version(version)
    made.python.conda_dependencies.set_pip_requirements(["azureml-defaults==1.61", *packages])
    made.environment_variables["GREETING"] = "hello"
    return made


@pytest.fixture
def submit(shelf: Path, experiment: Experiment, tmp_path: Path) -> Callable[..., Run]:
    def send(made: Environment, script: str = SCRIPT) -> Run:
        source = tree(tmp_path / "source", {"train.py": script})
        return experiment.submit(ScriptRunConfig(str(source), script="train.py", environment=made))

    return send


def build_log(run: Run) -> str:
    return waiting.Tail(run._connection.client, run.id, BUILD_LOG).read(0.0)


def statuses(run: Run) -> list[str]:
    events, _ = run_records.events(run._connection.client, run.id)
    return list(dict.fromkeys(event.to.value for event in events))


@pytest.mark.parametrize("version", [HERE, "3.8"])
def test_built_once_then_found(
    submit: Callable[..., Run], shelf: Path, home: Path, workspace: Workspace, version: str
) -> None:
    python(version)
    run = submit(environment("lower", version=version))
    shown = io.StringIO()
    waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), shown)
    assert run.get_status() == "Completed", shown.getvalue()
    assert run.get_metrics() == {"minor": int(version.split(".")[1]), "lower": "2.0"}
    assert statuses(run) == ["NotStarted", "Preparing", "Queued", "Provisioning", "Running", "Finalizing", "Completed"]
    text = shown.getvalue()
    assert text.index(f"Streaming {BUILD_LOG}") < text.index("Locked 4 packages.") < text.index("GREETING hello")
    assert str(shelf) not in text
    assert {BUILD_LOG, LOCK_FILE} <= set(run.get_file_names())
    run.download_file(LOCK_FILE, "lock.txt")
    assert "lower==2.0 \\\n    --hash=sha256:" in Path("lock.txt").read_text()
    assert (run.get_environment().name, run.get_environment().version) == ("mine", "1")
    assert workspace.environments["mine"].environment_variables == {"GREETING": "hello"}
    again = submit(environment("lower==2.0" if version == "3.8" else "lower", version=version))
    again.wait_for_completion()
    assert again.get_tags()["prefix"] == run.get_tags()["prefix"], (
        "another recipe with the same lock has the same prefix"
    )
    third = submit(environment("lower", version=version))
    third.wait_for_completion()
    assert "Preparing" not in statuses(third)
    assert BUILD_LOG not in third.get_file_names()
    assert len(list((home / "envs").glob("[!.]*"))) == 1


def test_no_solution_fails_the_run_and_is_tried_again_by_the_next(
    submit: Callable[..., Run], shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = submit(environment("lower==3.0"))
    with pytest.raises(ActivityFailedException, match="lower==3") as caught:
        run.wait_for_completion(show_output=True)
    assert "hint:" in str(caught.value)
    shown = capsys.readouterr().out
    assert shown.count("No solution found") == 1, "in the log; the summary has what follows from it"
    assert "could not be built. Its log above says why.\nhint: " in shown
    assert "lower==3" in run.get_details()["error"]["error"]["message"]
    assert BUILD_LOG in run.get_file_names()
    wheels.wheel(shelf, "lower", "3.0")
    later = submit(environment("lower==3.0"))
    later.wait_for_completion()
    assert later.get_metrics("lower") == {"lower": "3.0"}


def test_two_runs_one_build_watched_live(submit: Callable[..., Run], shelf: Path, tmp_path: Path) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    first = submit(environment("lower", "slow"))
    shown = io.StringIO()
    watching = threading.Thread(
        target=waiting.stream, args=(first._connection.watcher, first.id, first.get_portal_url(), shown)
    )
    watching.start()
    until(lambda: "Resolving" in shown.getvalue())
    runs = [first, submit(environment("lower", "slow"))]
    until((tmp_path / "sign.pid").exists)
    until(lambda: runs[1].get_status() == "Preparing")
    assert [run.get_status() for run in runs] == ["Preparing", "Preparing"]
    until(lambda: first.id in run_records.get(runs[1]._connection.client, runs[1].id).message)
    beside = io.StringIO()
    second = runs[1]
    waits = threading.Thread(
        target=waiting.stream, args=(second._connection.watcher, second.id, second.get_portal_url(), beside)
    )
    waits.start()
    until(lambda: f"Waits for its environment, which is built for run {first.id}.\n" in beside.getvalue())
    (tmp_path / "sign").touch()
    for run in runs:
        run.wait_for_completion()
        assert run.get_metrics("lower") == {"lower": "2.0"}
    watching.join(60)
    waits.join(60)
    assert beside.getvalue().count("Waits for its environment") == 1
    assert [BUILD_LOG in run.get_file_names() for run in runs] == [True, False]


def test_cancelled_while_it_is_built(submit: Callable[..., Run], shelf: Path, tmp_path: Path, home: Path) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    run = submit(environment("slow"))
    until((tmp_path / "sign.pid").exists)
    builder = int((tmp_path / "sign.pid").read_text())
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    until(lambda: gone(builder))
    until(lambda: not (home / "runs" / run.id).exists())
    until(
        lambda: "canceled" in run._connection.client.fetch("GET", f"/api/runs/{run.id}/files/{BUILD_LOG}").body.decode()
    )


def test_the_build_agent_is_killed(submit: Callable[..., Run], shelf: Path, tmp_path: Path, home: Path) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    run = submit(environment("lower", "slow"))
    until((tmp_path / "sign.pid").exists)
    builder = int((tmp_path / "sign.pid").read_text())
    agent = json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"]
    os.kill(agent, signal.SIGKILL)
    until(lambda: gone(builder))
    (tmp_path / "sign").touch()
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}
    events, _ = run_records.events(run._connection.client, run.id)
    assert "build_lost" in [event.reason.value for event in events]


def test_the_build_agent_and_its_keeper_are_killed(
    submit: Callable[..., Run], shelf: Path, tmp_path: Path, home: Path
) -> None:
    sign = tmp_path / "sign"
    wheels.sdist(shelf, "slow", "1.0", sign)
    run = submit(environment("lower", "slow"))
    until((tmp_path / "sign.pid").exists)
    first = known(int((tmp_path / "sign.pid").read_text()))
    agent = json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"]
    found = look(agent)
    assert found is not None
    os.kill(found.parent, signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    until(lambda: (tmp_path / "sign.pid").read_text() not in ("", str(first.pid)))
    assert not first.lives, "a second one does not build beside the first one's programs"
    sign.touch()
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}


def test_the_control_plane_is_killed_while_it_builds(
    submit: Callable[..., Run], shelf: Path, tmp_path: Path, home: Path
) -> None:
    wheels.sdist(shelf, "slow", "1.0", tmp_path / "sign")
    run = submit(environment("lower", "slow"))
    until((tmp_path / "sign.pid").exists)
    record = discovery.read_record(home)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    (tmp_path / "sign").touch()
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}
    assert [event for event in statuses(run) if event == "Preparing"] == ["Preparing"]


def test_the_user_s_own_packages(submit: Callable[..., Run]) -> None:
    made = Environment("own")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = python("3.8")
    run = submit(
        made, "import sys\nfrom azureml.core import Run\nRun.get_context().log('minor', sys.version_info[1])\n"
    )
    run.wait_for_completion()
    assert run.get_metrics() == {"minor": 8}
    assert "Preparing" not in statuses(run)


def test_a_prefix_that_was_deleted_is_installed_again(submit: Callable[..., Run], home: Path) -> None:
    submit(environment("lower")).wait_for_completion()
    (prefix,) = (home / "envs").glob("[!.]*")
    (prefix / ".ready").unlink()
    run = submit(environment("lower"))
    run.wait_for_completion()
    assert "Preparing" not in statuses(run)
    assert (prefix / ".ready").exists()


def roost(*arguments: str, code: int = 0) -> str:
    command = [str(Path(sys.executable).with_name("roost")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_built_ahead_from_the_command_line(shelf: Path, workspace: Workspace, tmp_path: Path) -> None:
    assert "No environments" in roost("env", "list")
    environment("lower").register(workspace)
    told = roost("env", "build", "mine")
    assert "lower==2.0" in told
    assert f"Streaming {BUILD_LOG}" in told
    shown = roost("env", "show", "mine")
    for words in ("lower", "Built here", "Last used"):
        assert words in shown
    assert json.loads(roost("env", "show", "mine", "--version", "1", "--json"))["name"] == "mine"
    assert "roost env list" in roost("env", "show", "other", code=1)
    (tmp_path / "requirements.txt").write_text("lower==9\n")
    assert "lower==9" in roost("env", "build", "requirements.txt", code=1)
    (tmp_path / "requirements.txt").write_text("lower\n")
    (tmp_path / "train.py").write_text("import lower; print('lower', lower.VERSION)\n")
    assert "lower 2.0" in roost("submit", "--environment", "requirements.txt", "train.py")


def test_registered_and_built_at_once(shelf: Path, workspace: Workspace) -> None:
    made = environment("lower").register(workspace, build_on_register=True)
    (begun,) = Experiment(workspace, "prepare_image").get_runs()
    begun.wait_for_completion()
    assert made.get_image_details(workspace)["imageExistsInRegistry"] is True
    with pytest.raises(RoostError, match="nowhere"):
        made.build(workspace, image_build_compute="nowhere")


def test_locked_and_pruned_from_the_command_line(shelf: Path, workspace: Workspace, tmp_path: Path) -> None:
    environment("lower").register(workspace)
    assert "Which environment" in roost("env", "build", code=1)
    assert "roost env list --curated" in roost("env", "build", "--curated", "Minimal", code=1)
    assert "is a folder; the lock is a file" in roost("env", "lock", "mine", "-o", ".", code=1)
    assert "There is no folder 'nowhere'" in roost("env", "lock", "mine", "-o", "nowhere/mine.lock", code=1)
    roost("env", "lock", "mine", "-o", "mine.lock")
    assert "lower==2.0" in Path("mine.lock").read_text()
    wheels.wheel(shelf, "lower", "2.1")
    assert "lower==2.0" in roost("env", "lock", "mine")
    assert "lower==2.1" in roost("env", "lock", "mine", "--fresh")
    locked = json.loads(roost("env", "lock", "mine", "--json"))
    assert (locked["kind"], locked["python"].startswith(HERE)) == ("pip", True)
    (listed,) = json.loads(roost("env", "list", "--json"))
    assert (listed["name"], listed["version"]) == ("mine", "1")
    assert listed["bytes"] > 0
    assert "Nothing to remove" in roost("env", "prune")
    going = json.loads(roost("env", "prune", "--older-than", "0s", "--dry-run", "--json"))
    assert sorted(each["name"] for each in going["environments"]) == ["", "mine"], "the older lock has no name any more"
    assert "Nobody is here to say yes" in roost("env", "prune", "--older-than", "0s", code=1)
    assert "2 environments are removed" in roost("env", "prune", "--older-than", "0s", "--yes")
    assert "Not built here" in roost("env", "show", "mine")


def test_curated_ones_from_the_command_line(workspace: Workspace) -> None:
    assert "AzureML-PyTorch-1.6-GPU" in roost("env", "list", "--curated")
    assert "torch==1.6.0" in roost("env", "show", "AzureML-PyTorch-1.6-GPU")
    assert "DeepSpeed" in roost("env", "build", "--curated", "AzureML-DeepSpeed-0.3-GPU", code=1)


def test_a_repetition_installs_what_was_installed_then_unless_it_is_to_be_fresh(
    submit: Callable[..., Run], shelf: Path, home: Path, workspace: Workspace
) -> None:
    first = submit(environment("lower"))
    first.wait_for_completion()
    lock = first.get_environment().lock
    assert lock is not None
    assert "lower==2.0" in lock
    wheels.wheel(shelf, "lower", "3.0")

    again = repeats.repeat(first)
    again.wait_for_completion()
    assert again.get_metrics()["lower"] == "2.0"
    assert again.get_environment().lock == lock
    events, _ = run_records.events(again._connection.client, again.id)
    assert any("not resolved again" in event.message for event in events)

    fresh = repeats.repeat(first, fresh=True)
    fresh.wait_for_completion()
    assert fresh.get_metrics()["lower"] == "3.0"

    prefixes = list((home / "envs").glob("[!.]*"))
    assert prefixes
    for prefix in prefixes:
        (prefix / ".ready").unlink()
    later = first.repeat()
    later.wait_for_completion()
    assert later.get_metrics()["lower"] == "2.0"
    assert "nothing is resolved" in (log := build_log(later)), log

    kept = submit(first.get_environment())
    changed = first.get_environment()
    changed.python.conda_dependencies.add_pip_package("lower>=1")
    moved = submit(changed)
    for run in (kept, moved):
        run.wait_for_completion()
    assert (kept.get_metrics()["lower"], moved.get_metrics()["lower"]) == ("2.0", "3.0")


def test_a_wheel_of_ones_own(submit: Callable[..., Run], workspace: Workspace, tmp_path: Path) -> None:
    own = wheels.wheel(tmp_path / "elsewhere", "lower", "9.1")
    line = Environment.add_private_pip_wheel(workspace, str(own))
    with pytest.raises(RoostError, match="there already"):
        Environment.add_private_pip_wheel(workspace, str(own))
    assert Environment.add_private_pip_wheel(workspace, str(own), exist_ok=True) == line
    run = submit(environment(line))
    run.wait_for_completion()
    assert run.get_metrics()["lower"] == "9.1"
    with pytest.raises(UserErrorException, match="not a wheel"):
        Environment.add_private_pip_wheel(workspace, str(tmp_path))


def test_a_curated_environment_says_in_log_and_lock_what_is_not_as_its_name_says(
    submit: Callable[..., Run], workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "AzureML-minimal-ubuntu18.04-py37-cpu-inference"
    python("3.7")
    made = Environment.get(workspace, name, version="12")
    run = submit(made, "import sys; print('MINOR', sys.version_info[1])")
    run.wait_for_completion(show_output=True)
    shown = capsys.readouterr().out
    assert "MINOR 7" in shown
    assert "version 12 of it is not kept" in shown
    assert "version 12 of it is not kept" in (run.get_environment().lock or "")
    assert (run.get_environment().name, run.get_environment().version) == (name, "1")
    assert made.get_image_details(workspace)["notes"] == list(made._notes)
    assert made.build_local(workspace).endswith(made.get_image_details(workspace)["lock"])
    assert "version 12 of it is not kept" in roost("run", "show", run.id)
    again = submit(made, "print('again')")
    again.wait_for_completion(show_output=True)
    assert "version 12 of it is not kept" in capsys.readouterr().out, "said though nothing was built"
