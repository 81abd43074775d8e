"""Runs with conda packages, from a channel that is made here: built, found again, failing for good reasons, cancelled. The Python
of the channel stands for one of this machine's; `tests/real/test_conda.py` has a real one.
"""

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.environments.test_conda_servers import Server
from tests.journeys.test_submit import gone, until
from tests.shared import channels, wheels
from tests.shared.folders import tree
from typer.testing import CliRunner

from roost import Environment, Experiment, Run, ScriptRunConfig, Workspace
from roost.cli.main import app
from roost.domain.environments import BUILD_LOG, LOCK_FILE
from roost.environments import pythons
from roost.sdk.calls import run_records
from roost.sdk.runs import waiting
from roost_job.exceptions import ActivityFailedException

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))
SCRIPT = """
import os, sys
import lower, wheely
from azureml.core import Run

run = Run.get_context()
run.log("lower", lower.VERSION)
run.log("wheely", wheely.VERSION)
run.tag("prefix", sys.prefix)
print("DATA", os.environ["LOWER_DATA"], os.environ["CONDA_PREFIX"] == sys.prefix, os.environ["GREETING"], os.environ["MODE"])
"""
FILE = """
name: birds
channels: [{channel}, nodefaults]
dependencies: ['python={python}', lower, pip, pip: [azureml-defaults, wheely]]
variables: {{GREETING: hello, MODE: file}}
"""


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Before anything is started: the control plane and its agents inherit what pip and conda are told here."""
    made = tmp_path / "www" / "channel"
    shelf = wheels.machine(tmp_path, monkeypatch)
    wheels.wheel(shelf, "wheely", "1.0", requires=["lower>=2"])
    channels.machine(tmp_path, monkeypatch)
    channels.python(made, EXACT, pythons.choose(HERE).path)
    channels.module(made, "pip", "20.0")
    channels.package(
        made, "data", "1.0", files={"etc/conda/activate.d/lower.sh": 'export LOWER_DATA="$CONDA_PREFIX/share"\n'}
    )
    channels.module(made, "lower", "2.0", depends=["data"])
    return made


@pytest.fixture
def submit(channel: Path, experiment: Experiment, tmp_path: Path) -> Callable[..., Run]:
    def send(address: str = "", python: str = HERE, script: str = SCRIPT) -> Run:
        source = tree(tmp_path / "source", {"train.py": script})
        file = tmp_path / "conda.yml"
        file.write_text(FILE.format(channel=address or channel, python=python))
        made = Environment.from_conda_specification("birds", str(file))
        made.environment_variables["MODE"] = "environment"
        return experiment.submit(ScriptRunConfig(str(source), script="train.py", environment=made))

    return send


def statuses(run: Run) -> list[str]:
    events, _ = run_records.events(run._connection.client, run.id)
    return list(dict.fromkeys(event.to.value for event in events))


def test_built_once_then_found(submit: Callable[..., Run], home: Path) -> None:
    run = submit()
    shown = io.StringIO()
    waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), shown)
    text = shown.getvalue()
    assert run.get_status() == "Completed", text
    assert run.get_metrics() == {"lower": "2.0", "wheely": "1.0"}
    prefix = run.get_tags()["prefix"]
    assert f"DATA {prefix}/share True hello environment" in text
    for phase in (
        "Resolving 3 conda packages",
        "Locked 4 conda packages.",
        "Installing 4 conda packages",
        "Linked 4 conda",
    ):
        assert phase in text
    run.download_file(LOCK_FILE, "lock.txt")
    lock = Path("lock.txt").read_text()
    assert "# kind conda" in lock
    assert "wheely==1.0" in lock
    again = submit()
    again.wait_for_completion()
    assert "Preparing" not in statuses(again)
    assert again.get_tags()["prefix"] == prefix
    assert len(list((home / "envs").glob("[!.]*"))) == 1


def test_no_solution_is_told_in_the_run(submit: Callable[..., Run], channel: Path) -> None:
    channels.module(channel, "lower", "3.0", depends=["python <3"])
    run = submit(python="3.5")
    with pytest.raises(ActivityFailedException, match=r"No candidates were found for python 3\.5") as caught:
        run.wait_for_completion(show_output=True)
    assert "hint: Loosen the versions" in str(caught.value)
    assert BUILD_LOG in run.get_file_names()


def test_a_channel_that_is_away_is_told_in_the_run(submit: Callable[..., Run]) -> None:
    run = submit("http://127.0.0.1:9/team")
    with pytest.raises(ActivityFailedException, match=r"127\.0\.0\.1:9/team") as caught:
        run.wait_for_completion()
    assert "hint:" in str(caught.value)


def test_a_changed_package_is_told_in_the_run_and_the_next_try_works(submit: Callable[..., Run], channel: Path) -> None:
    made = channel / "noarch" / "lower-2.0-0.tar.bz2"
    whole = made.read_bytes()
    made.write_bytes(whole[:-10])
    run = submit()
    with pytest.raises(ActivityFailedException, match="hash mismatch"):
        run.wait_for_completion()
    made.write_bytes(whole)
    later = submit()
    later.wait_for_completion()
    assert later.get_metrics("lower") == {"lower": "2.0"}


def test_an_exact_python_that_is_nowhere_is_the_nearest_and_told(
    submit: Callable[..., Run], experiment: Experiment, tmp_path: Path
) -> None:
    made = Environment("exact")
    made.python.conda_dependencies.add_channel("http://127.0.0.1:9/team")
    made.python.conda_dependencies.remove_channel("conda-forge")
    made.python.conda_dependencies.set_python_version(f"{HERE}.99")
    source = tree(tmp_path / "source", {"train.py": "print('ran')\n"})
    run = experiment.submit(ScriptRunConfig(str(source), script="train.py", environment=made))
    shown = io.StringIO()
    waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), shown)
    note = f"Python {pythons.choose(f'{HERE}.99').text}, the nearest to {HERE}.99 on this node."
    assert "http://127.0.0.1:9/team cannot be reached" in shown.getvalue()
    assert note in shown.getvalue()
    run.download_file(LOCK_FILE, "lock.txt")
    assert f"# note {note}" in Path("lock.txt").read_text()


@pytest.fixture
def server(channel: Path, tmp_path: Path) -> object:
    made = Server(tmp_path / "www")
    yield made
    made.close()


def _worker_of(home: Path, run: Run) -> int:
    """The process in which rattler works, below the run's build agent."""
    agent = json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"]
    for task in Path(f"/proc/{agent}/task").iterdir():
        for child in (task / "children").read_text().split():
            if "conda.worker" in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
    raise AssertionError("no worker")


def test_cancelled_while_it_fetches(submit: Callable[..., Run], server: Server, home: Path) -> None:
    server.hold.clear()
    run = submit(f"http://{server.host}/channel")
    until(server.held.is_set)
    worker = _worker_of(home, run)
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    until(lambda: gone(worker))
    assert list((home / "envs").glob("*/.ready")) == []


def test_the_build_agent_is_killed_while_it_fetches(submit: Callable[..., Run], server: Server, home: Path) -> None:
    server.hold.clear()
    run = submit(f"http://{server.host}/channel")
    until(server.held.is_set)
    worker = _worker_of(home, run)
    os.kill(json.loads((home / "runs" / run.id / "agent.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: gone(worker))
    server.hold.set()
    run.wait_for_completion()
    assert run.get_metrics("lower") == {"lower": "2.0"}
    events, _ = run_records.events(run._connection.client, run.id)
    assert "build_lost" in [event.reason.value for event in events]


AWAY = "http://127.0.0.1:9/team"
"""Nobody listens there."""


def test_where_no_channel_can_be_reached_the_index_stands_in_and_is_never_taken_for_conda(
    submit: Callable[..., Run], channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels.wheel(tmp_path / "shelf", "lower", "7.0")
    script = SCRIPT.replace("print", "#print")
    first = submit(AWAY, script=script)
    first.wait_for_completion()
    assert first.get_metrics() == {"lower": "7.0", "wheely": "1.0"}
    note = f"From the package index instead of conda, as {AWAY} could not be reached: lower."
    assert note in log_of(first, BUILD_LOG) and f"Environment: {note}" in log_of(
        first, "azureml-logs/70_driver_log.txt"
    )
    assert f"# source index\n# note {note}" in log_of(first, LOCK_FILE)
    shown = CliRunner().invoke(app, ["env", "show", "birds"])
    assert f"Note: {note}" in shown.output and "Built here" in shown.output
    wheels.wheel(tmp_path / "shelf", "lower", "8.0")
    second = submit(AWAY, script=script)
    second.wait_for_completion()
    assert "Preparing" not in statuses(second) and second.get_metrics()["lower"] == "7.0", (
        "found, and not resolved again"
    )
    again = first.repeat()
    again.wait_for_completion()
    assert again.get_metrics()["lower"] == "7.0", "a run with its lock gets exactly that"


def log_of(run: Run, path: str) -> str:
    run.download_file(path, "file.txt")
    return Path("file.txt").read_text()


def test_channels_only_is_an_error_that_names_the_setting(
    channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_CONDA_PACKAGES", "channels-only")
    wheels.wheel(tmp_path / "shelf", "lower", "7.0")
    file = tmp_path / "conda.yml"
    file.write_text(FILE.format(channel=AWAY, python=HERE))
    source = tree(tmp_path / "source", {"train.py": "import lower"})
    environment = Environment.from_conda_specification("birds", str(file))
    run = Experiment(Workspace(), "tests").submit(
        ScriptRunConfig(str(source), script="train.py", environment=environment)
    )
    with pytest.raises(ActivityFailedException, match=r"cannot be reached(?s:.*)ROOST_CONDA_PACKAGES is channels-only"):
        run.wait_for_completion()
