"""A real control plane on loopback, with its local engine, for the stories of whole runs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from roost.domain import files
from roost.domain.codec import decode, encode
from roost.domain.names import new_run_id
from roost.domain.runs import Run, RunSpec, Submission
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint, path_of


class ControlPlane:
    """A server process with a home of its own; it can be killed and started again."""

    def __init__(self, home):
        self.home = home
        self.process = None
        self.submitted = []
        self.client = Client(self._locate, patience=20)
        self.carrier = Carrier(self.client)

    def _locate(self):
        url = json.loads((self.home / "server.json").read_text())["url"]
        return Endpoint(url, (self.home / "token").read_text().strip())

    def start(self):
        read, write = os.pipe()
        with (self.home / "server.out").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "roost.server", "--home", str(self.home), "--ready-fd", str(write)],
                pass_fds=[write],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        os.close(write)
        with open(read) as ready:
            assert ready.readline().startswith("ready"), (self.home / "server.out").read_text()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def submit(self, sources, **spec):
        """Sends a run: `sources` are the snapshot's files by name, the first of them the script unless a command is given."""
        entries = []
        for name, text in sources.items():
            data = textwrap.dedent(text).encode() if isinstance(text, str) else text
            entries.append(files.Entry(name, size=len(data), content=self.carrier.put(data)))
        if "command" not in spec:
            spec = {"script": next(iter(sources)), "interpreter": sys.executable, **spec}
        manifest = self.carrier.put(files.write_manifest(entries))
        submission = Submission(
            id=new_run_id("exp", time.time()), experiment="exp", spec=RunSpec(snapshot=manifest, **spec)
        )
        run = decode(Run, self.client.call("POST", "/api/workspaces/default/runs", json=encode(submission)))
        self.submitted.append(run)
        return run

    def run(self, script, **spec):
        """Submits one script and waits for its end."""
        return self.wait(self.submit({"train.py": script}, **spec))

    def get(self, run):
        return decode(Run, self.client.call("GET", path_of("runs", run.id)))

    def wait(self, run, until=lambda run: run.status.is_terminal, seconds=60):
        deadline = time.monotonic() + seconds
        while not until(run):
            assert time.monotonic() < deadline, run
            answer = self.client.call("GET", path_of("runs", run.id), params={"after": run.revision, "wait": 5})
            run = decode(Run, answer)
        return run

    def cancel(self, run):
        return self.client.call("POST", path_of("runs", run.id, "cancel"))

    def names(self, run):
        return [file["path"] for file in self.client.call("GET", path_of("runs", run.id, "files"))["files"]]

    def read(self, run, name):
        return self.client.fetch("GET", path_of("runs", run.id, "files", name)).body

    def log(self, run):
        return self.read(run, "user_logs/std_log.txt").decode("utf-8", "replace")

    def says(self, run, words):
        """Whether its log has come so far."""
        return "user_logs/std_log.txt" in self.names(run) and words in self.log(run)

    def metrics(self, run):
        return self.client.call("GET", path_of("runs", run.id, "metrics"))["metrics"]

    def folder(self, run):
        return self.home / "runs" / run.id

    def agent(self, run):
        return json.loads((self.folder(run) / "agent.json").read_text())["pid"]


@contextlib.contextmanager
def control_plane(home):
    plane = ControlPlane(home)
    plane.start()
    try:
        yield plane
    finally:
        plane.kill(signal.SIGTERM)
        plane.client.close()
        for folder in (home / "runs").glob("*"):  # agents that a test has left go with their folders
            for left in Path(folder).glob("plan.json"):
                left.unlink()
            folder.rename(folder.with_name(f".{folder.name}"))


@pytest.fixture(scope="session")
def shared_plane(tmp_path_factory):
    with control_plane(tmp_path_factory.mktemp("home")) as plane:
        yield plane


@pytest.fixture
def plane(shared_plane):
    """One control plane for all stories that leave it alone. A run that a failed test has left gives its place back."""
    yield shared_plane
    while shared_plane.submitted:
        run = shared_plane.get(shared_plane.submitted.pop())
        if not run.status.is_terminal:
            shared_plane.cancel(run)
            shared_plane.wait(run)


@pytest.fixture
def own_plane(tmp_path):
    """A control plane that the test may kill."""
    with control_plane(tmp_path) as plane:
        yield plane
