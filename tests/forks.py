"""Processes of the product without the second that loading it takes: a process that has loaded it once forks for each, with the
streams, the folder and the variables of the caller. `make test` begins the command line and most control planes so. What
starts them from nothing is tested with the commands themselves, and by every real part.
"""

import array
import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from roost.sdk.connection import embedded

_SECONDS = 120.0
_OWN = dict(os.environ)
"""Those of this process, before a test changes them."""
_ROOM = 1000
"""Bytes for the words of a forked process, which are read from outside."""


class Forked:
    """A process that was begun, the leader of a session of its own; a `subprocess.Popen` in what it answers to."""

    def __init__(
        self,
        function: str,
        argv: Sequence[str],
        descriptors: Mapping[int, int],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Calls this function, named with its module. `descriptors`: the number there, and the open one here."""
        self.args, self.returncode = list(argv), None
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SECONDS)
        self._socket.connect(_forker())
        asked = {
            "function": function,
            "argv": self.args,
            "cwd": str(cwd or os.getcwd()),
            "env": dict(os.environ if env is None else env),
            "umask": _umask(),
            "numbers": list(descriptors),
        }
        rights = array.array("i", descriptors.values())
        self._socket.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self._socket.sendall(json.dumps(asked).encode() + b"\n")
        self._answers = self._socket.makefile("r")
        self.pid = int(self._answers.readline())

    returncode: int | None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if timeout is not None and not select.select([self._socket], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._socket.settimeout(None)
            with self._socket, self._answers:
                self.returncode = int(self._answers.readline())
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        self._answers.close()
        self._socket.close()


def control_plane(
    argv: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int,
    stderr: int,
    cwd: str | os.PathLike[str] | None = None,
    pass_fds: Sequence[int] = (),
    start_new_session: bool = True,
) -> Forked:
    """In place of a `subprocess.Popen` of `python -m roost.server`."""
    assert "roost.server" in argv and start_new_session and stdin == subprocess.DEVNULL
    with open(os.devnull, "rb") as nothing:
        descriptors = {0: nothing.fileno(), 1: stdout, 2: stderr, **{number: number for number in pass_fds}}
        return Forked("roost.server.__main__.run", argv, descriptors, cwd)


@cache
def _forker() -> str:
    return _own_forker or _begin_forker()


_own_forker = ""
"""In a forked process: the one that it comes from."""


def _begin_forker() -> str:
    """The socket of the process that forks. It ends with this one: nobody holds the other end of its pipe then."""
    place = f"{tempfile.mkdtemp(prefix='roost-c-')}/s"  # short: sockets have short names
    life, held = os.pipe()
    ready, theirs = os.pipe()
    code = "from tests import forks; forks.serve()"
    argv = [sys.executable, "-c", code, place, str(life), str(theirs), "-" * _ROOM]
    process = subprocess.Popen(argv, cwd=Path(__file__).parents[1], env=_OWN, pass_fds=[life, theirs])
    atexit.register(_end, process, held)
    os.close(life)
    os.close(theirs)
    assert os.read(ready, 1) == b".", "the process that forks others did not start"
    os.close(ready)
    return place


def _end(process: "subprocess.Popen[bytes]", held: int) -> None:
    os.close(held)
    process.wait(_SECONDS)


def serve() -> None:
    """What the forking process does: a keeper for each process, which begins it and reports its end."""
    global _own_forker
    place, life, ready = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _load()
    embedded._Detached = control_plane  # type: ignore  # of commands that start one
    _own_forker = place
    gc.collect()
    gc.freeze()
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


def _load() -> None:
    """All that a command or a control plane loads before it is of use."""
    for name in ("cli", "sdk", "api", "control", "engines", "server", "store.sql"):
        package = importlib.import_module(f"roost.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"roost.{name}."):
            importlib.import_module(module.name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["roost", "run", "list", "--help"]
        importlib.import_module("roost.cli.entry").main()
    with tempfile.TemporaryDirectory(prefix="roost-c-") as home:
        settings = importlib.import_module("roost.server.settings").read({}, home=Path(home), host=None, port=None)
        importlib.import_module("roost.server.home").prepare(settings)
        context = importlib.import_module("roost.server.wiring").build(settings, "none")
        importlib.import_module("roost.api.app").create_app(context, hosts=frozenset(), stop=lambda: None, pages=())
        context.store.close()


def _keep(caller: socket.socket) -> NoReturn:
    _, given, _, _ = caller.recvmsg(1, socket.CMSG_SPACE(16 * array.array("i").itemsize))
    received = array.array("i")
    received.frombytes(given[0][2])
    with caller.makefile("r") as lines:
        asked = json.loads(lines.readline())
    child = os.fork()
    if child == 0:
        caller.close()
        _become(asked, received)
    for each in received:
        os.close(each)
    caller.sendall(f"{child}\n".encode())
    os.closerange(0, 3)  # whoever reads to the end of what this process inherited need not wait for it
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        caller.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(asked: dict[str, Any], received: "array.array[int]") -> NoReturn:
    """The process itself, to its end."""
    os.setsid()
    _name(asked["argv"])
    free = max(*received, *asked["numbers"]) + 1
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, free) for descriptor in received]
    os.closerange(3, free)
    for number, copy in zip(asked["numbers"], copies, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False, buffering=-1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.chdir(asked["cwd"])
    os.umask(asked["umask"])
    os.environ.clear()
    os.environ.update(asked["env"])
    words = asked["argv"]
    sys.argv = words[words.index("-m") + 1 :] if words[0] == sys.executable else words
    code = 1
    try:
        module, _, function = asked["function"].rpartition(".")
        code = getattr(importlib.import_module(module), function)() or 0
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


def _name(argv: Sequence[str]) -> None:
    """Makes these the words by which others know this process: they are read from its own memory."""
    first, last = (int(field) for field in Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    words = b"\0".join(os.fsencode(word) for word in argv) + b"\0"
    if len(words) < last - first:
        ctypes.memmove(first, words.ljust(last - first - 1, b" ") + b"\0", last - first)


def _umask() -> int:
    """That of this process, read without changing it: other threads make files meanwhile."""
    return int(re.search(r"^Umask:\s+(\d+)$", Path("/proc/self/status").read_text(), re.M)[1], 8)
