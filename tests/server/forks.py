"""Starts of a server as forks of one process that has loaded everything: many of them in little time. Start with `Forks`.

The server's output goes to the log in its home, as with `roost up`; what it says to its starter comes by a pipe.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.shared.processes import environment

_WAIT = 60.0
_SOON = 20.0
HANGS = -1000
"""In place of an exit code: it did not end by itself."""


@dataclass(frozen=True)
class Attempt:
    said: str
    """To its starter."""
    code: int
    """Negative for the signal that ended it."""
    polite: bool = True
    """False when SIGTERM did not end it."""

    @property
    def is_ready(self) -> bool:
        return self.said.startswith("ready ")


class Forks:
    """The process that is forked. Waits for it to say that it has loaded."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment() | {"PYTHONPATH": str(Path(__file__).parents[2])},
            text=True,
        )
        self._answer()

    def start(self, home: Path, *, fault: str = "", then: str = "end") -> Attempt:
        """One start. `fault` is what goes wrong: `module:function:hang` or `…:raise`, and `then` what is done with one that
        hangs or is ready: `end` (SIGTERM) or `kill`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"home": str(home), "fault": fault, "then": then}) + "\n")
        self._process.stdin.flush()
        return Attempt(**json.loads(self._answer()))

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.communicate(timeout=_WAIT)


@contextlib.contextmanager
def forks() -> Iterator[Forks]:
    made = Forks()
    try:
        yield made
    finally:
        made.close()


def _serve() -> None:
    for name in ("roost.server.__main__", "roost.server.serving", "alembic.command"):
        importlib.import_module(name)
    _answer({"loaded": True})
    for line in sys.stdin:
        asked = json.loads(line)
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _child(Path(asked["home"]), theirs, asked["fault"])
        os.close(theirs)
        said = _read(ours)
        if asked["fault"].endswith(":hang") or said.startswith("ready"):
            os.kill(pid, signal.SIGTERM if asked["then"] == "end" else signal.SIGKILL)
        code, polite = _wait(pid), True
        if code == HANGS:
            os.kill(pid, signal.SIGTERM)
            polite = _wait(pid) != HANGS
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _answer({"said": said, "code": code, "polite": polite})


def _child(home: Path, starter: int, fault: str) -> NoReturn:
    log = home / "logs" / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if fault:
        _break(fault, starter)
    importlib.import_module("roost.server.__main__").run(["--home", str(home), "--ready-fd", str(starter)])
    os._exit(99)


def _break(fault: str, starter: int) -> None:
    module, function, how = fault.split(":")
    if how == "hang":
        importlib.import_module("roost.server.ending").within.__defaults__ = (0.5,)

    def broken(*_: object, **__: object) -> None:
        if how == "raise":
            raise RuntimeError("it cannot")
        with contextlib.suppress(OSError):
            os.write(starter, b"hangs\n")
        while True:
            time.sleep(1000)

    place: object = importlib.import_module(module)
    *owners, name = function.split(".")
    for owner in owners:
        place = getattr(place, owner)
    setattr(place, name, broken)


def _read(pipe: int) -> str:
    """The first line."""
    said = b""
    with open(pipe, "rb", buffering=0) as file:
        while not said.endswith(b"\n") and select.select([file], [], [], _WAIT)[0]:
            if not (more := file.read(65536)):
                break
            said += more
    return said.decode()


def _wait(pid: int) -> int:
    until = time.monotonic() + _SOON
    while time.monotonic() < until:
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return HANGS


def _answer(words: dict[str, object]) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    _serve()
