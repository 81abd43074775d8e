"""Fixtures for tests that need a control plane of their own: each has its own ROOST_HOME, and leaves no process behind."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests import forks, skips

from roost import Experiment, Workspace
from roost.agent.folder import Folder
from roost.sdk.connection import discovery, embedded

# Whoever runs the tests in the background has made them deaf to Ctrl-C, and with them every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: what is printed here comes after pytest's own summary
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield
    reports = terminalreporter.stats.get("skipped", [])
    for line in skips.summary(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)):
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A ROOST_HOME of this test alone; whatever it started is ended afterwards. Its control plane is forked but in real tests."""
    if not request.node.get_closest_marker("real"):
        monkeypatch.setattr(embedded, "_Detached", forks.control_plane)
    place = tmp_path / "h"
    for name in ("ROOST_URL", "ROOST_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROOST_HOME", str(place))
    monkeypatch.chdir(tmp_path)
    yield place
    end_all(place)


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace()


@pytest.fixture
def experiment(workspace: Workspace) -> Experiment:
    return Experiment(workspace, "tests")


def end_all(home: Path) -> None:
    """Ends the home's control plane, by the id that it wrote down, and every process that carries the mark of one of its runs."""
    with suppress(OSError, psutil.NoSuchProcess):
        record = discovery.read_record(home)
        server = psutil.Process(record.pid) if record else None
        if record and server and str(home) in server.cmdline():
            discovery.note_down(home, record)  # so that what still ships in this process does not take it for a crash
            server.send_signal(signal.SIGCONT)
            server.terminate()
            _end(server)
    for run in (home / "runs").glob("endpoint-*"):
        _kill_agent(run)  # a replica goes on for ever, and its agent begins it anew
    marks = {Folder(run).mark for run in (home / "runs").iterdir()} if (home / "runs").is_dir() else set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if "roost.serving" in process.cmdline() and any(str(home) in word for word in process.cmdline()):
                _kill(process)  # the front of an endpoint, which lives on without its control plane
            elif process.environ().get("ROOST_MARK", "").startswith("endpoint-"):
                if process.environ()["ROOST_MARK"] in marks:
                    _kill(process)
            elif marks and process.pid != os.getpid() and process.environ().get("ROOST_MARK") in marks:
                _end(process)


def _kill_agent(run: Path) -> None:
    """The agent of this folder and its keeper."""
    with suppress(OSError, ValueError, psutil.Error):
        agent = psutil.Process(json.loads((run / "agent.json").read_bytes())["pid"])
        for process in (agent.parent(), agent):
            if process and any("roost.agent" in word for word in process.cmdline()):
                _kill(process)


def _kill(process: psutil.Process) -> None:
    """Returns when it has ended, whether its parent has heard of that or not."""
    process.kill()
    deadline = time.monotonic() + 15
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.01)


def _end(process: psutil.Process) -> None:
    try:
        process.wait(15)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(15)
