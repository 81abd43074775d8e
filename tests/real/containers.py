"""Runs in real containers, for the tests of them: Podman, a script that waits, and what is read of a run."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.test_submit import until
from tests.real import podman
from tests.real.podman import BASE, Podman
from tests.shared.folders import tree

from roost import (
    Environment,
    Experiment,
    Run,
    ScriptRunConfig,
    Workspace,
)
from roost.sdk.runs import waiting

SCRIPT = """
import os, sys
from azureml.core import Run

run = Run.get_context()
for step in range(5):
    run.log("loss", 1.0 / (step + 1))
run.log("minor", sys.version_info[1])
run.tag("inside", str(os.path.exists("/run/.containerenv")))
run.tag("executable", sys.executable)
open("outputs/model.txt", "w").write("weights")
open("/tmp/note.txt", "w").write("a note")
run.upload_file("note.txt", "/tmp/note.txt")
run.download_file("note.txt", "/tmp/again.txt")
assert open("/tmp/again.txt").read() == "a note"
try:
    run.upload_file("passwd", "/etc/passwd")
except Exception as error:
    print("REFUSED", error)
print("HOST VARIABLE", os.environ.get("ONLY_OUTSIDE"), "GIVEN", os.environ.get("GREETING"))
print("to standard error", file=sys.stderr)
"""
WAITS = """
import json, os, signal, subprocess, sys, time
from azureml.core import Run

run = Run.get_context()
run.log("loss", 1.0)
open("outputs/model.txt", "w").write("weights")

def polite(*_):
    print("TERM", flush=True)
    sys.exit(5)

signal.signal(signal.SIGTERM, polite if sys.argv[1] == "polite" else signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open("started", "w").close()
time.sleep(600)
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Podman]:
    podman.check()
    made = Podman()
    try:
        yield made
    finally:
        made.quit()


@pytest.fixture
def engine(machine: Podman, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Podman]:
    """Before anything is started: the control plane and its agents inherit it."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{machine.socket}")
    monkeypatch.setenv("ONLY_OUTSIDE", "yes")
    monkeypatch.delenv("ROOST_CONTAINER_VOLUMES", raising=False)
    yield machine
    assert machine.containers() == [], "no container outlives its run"


@pytest.fixture
def submit(engine: Podman, tmp_path: Path) -> Callable[..., Run]:
    """The first call starts the control plane, with the variables of that moment."""

    def send(made: Environment, script: str = SCRIPT, *arguments: Any, **more: Any) -> Run:
        source = tree(tmp_path / "source", {"train.py": script})
        config = ScriptRunConfig(str(source), script="train.py", arguments=arguments, environment=made, **more)
        return Experiment(Workspace(), "tests").submit(config)

    return send


def own(**variables: str) -> Environment:
    """The base image with the Python that is in it."""
    made = Environment.from_docker_image("own", BASE)
    made.environment_variables.update(variables)
    return made


def shown(run: Run) -> str:
    text = io.StringIO()
    waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), text)
    return text.getvalue()


def started(run: Run, home: Path) -> Path:
    """The working copy of a run whose script has begun."""
    work = home / "runs" / run.id / "work"
    until((work / "started").exists)
    return work
