"""Real servers as processes, each with a home of its own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.shared.clients import Client

WAIT = 60


@dataclass(frozen=True)
class ServerProcess:
    home: Path
    url: str
    process: "subprocess.Popen[bytes]"

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "server.json").read_text())
        return found

    @property
    def person(self) -> Client:
        return Client(self.url, (self.home / "token").read_text().strip())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WAIT)

    def end(self) -> int:
        """Asked politely; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT)


def command(home: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "roost.server", "--home", str(home), *arguments]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}


def start(home: Path, *arguments: str) -> ServerProcess:
    """A server that is ready."""
    ours, theirs = os.pipe()
    with home.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            command(home, "--ready-fd", str(theirs), *arguments),
            pass_fds=[theirs],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stderr=log,
        )
    os.close(theirs)
    with os.fdopen(ours) as ready:
        line = ready.readline()
    assert line.startswith("ready http://"), home.with_suffix(".log").read_text()
    return ServerProcess(home, line.split()[1], process)


def attempt(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A start that is expected to fail."""
    return subprocess.run(
        command(home, *arguments),
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
