"""The command line as a process of its own, without the half second that loading it takes: a process that has loaded it once
forks for each command, with the streams, the folder and the variables of the caller. What starts it from nothing (the console
script, Ctrl-C while it loads) is tested with `ROOST` itself.
"""

import array
import atexit
import contextlib
import importlib
import io
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ROOST = str(Path(sys.executable).with_name("roost"))
_SECONDS = 120.0
_OWN = dict(os.environ)
"""Those of this process, before a test changes them."""


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


class Command:
    """One that was begun: `pid` is its process, the leader of a session of its own."""

    def __init__(
        self, words: Sequence[str], stdin: int, stdout: int, stderr: int, env: Mapping[str, str] | None = None
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SECONDS)
        self._socket.connect(_forker())
        asked = json.dumps({"words": [*words], "cwd": os.getcwd(), "env": dict(os.environ if env is None else env)})
        rights = array.array("i", [stdin, stdout, stderr])
        self._socket.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self._socket.sendall(asked.encode() + b"\n")
        self._answers = self._socket.makefile("r")
        self.pid = int(self._answers.readline())

    def wait(self) -> int:
        with self._socket, self._answers:
            return int(self._answers.readline())


def run(words: Sequence[str], given: str = "") -> Ended:
    """A command to its end: what it was given on stdin, what it printed."""
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        stdin.write(given)
        stdin.seek(0)
        code = Command(words, stdin.fileno(), out.fileno(), err.fileno()).wait()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read())


@cache
def _forker() -> str:
    """The socket of the process that forks. It ends with this one: nobody holds the other end of its pipe then."""
    place = f"{tempfile.mkdtemp(prefix='roost-c-')}/s"  # short: sockets have short names
    life, held = os.pipe()
    ready, theirs = os.pipe()
    code = "from tests.cli import commands; commands.serve()"
    argv = [sys.executable, "-c", code, place, str(life), str(theirs)]
    process = subprocess.Popen(argv, cwd=Path(__file__).parents[2], env=_OWN, pass_fds=[life, theirs])
    atexit.register(_end, process, held)
    os.close(life)
    os.close(theirs)
    assert os.read(ready, 1) == b".", "the process that forks commands did not start"
    os.close(ready)
    return place


def _end(process: "subprocess.Popen[bytes]", held: int) -> None:
    os.close(held)
    process.wait(_SECONDS)


def serve() -> None:
    """What the forking process does: a keeper for each command, which begins it and reports its end."""
    place, life, ready = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name in ("roost.cli", "roost.sdk"):
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(module.name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = [ROOST, "run", "list", "--help"]
        importlib.import_module("roost.cli.entry").main()  # loads what the first command loads
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(16)
        os.write(ready, b".")
        os.close(ready)
        while life not in select.select([listener, life], [], [])[0]:
            caller, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                os.close(life)
                _keep(caller)
            caller.close()
    shutil.rmtree(Path(place).parent)


def _keep(caller: socket.socket) -> NoReturn:
    _, given, _, _ = caller.recvmsg(1, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    streams = array.array("i")
    streams.frombytes(given[0][2])
    with caller.makefile("r") as lines:
        asked = json.loads(lines.readline())
    child = os.fork()
    if child == 0:
        caller.close()
        _become(asked, streams)
    for each in streams:
        os.close(each)
    caller.sendall(f"{child}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        caller.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(asked: dict[str, Any], streams: "array.array[int]") -> NoReturn:
    """The command itself, in this process, to its end."""
    os.setsid()
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False, buffering=-1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = [ROOST, *asked["words"]]
    code = 1
    try:
        importlib.import_module("roost.cli.entry").main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120  # as the interpreter ends
    os._exit(code)
