"""The embedded engine: agents are processes on this machine, forked from a warm one. Handles are JSON: the keeper's pid, its
start time, its seat in the run and its mark; they outlive the control plane, and are not valid in another home. Start with
`LocalEngine.start`.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from roost.domain.errors import Unavailable
from roost.domain.plans import Access, Errand, Plan, seat
from roost.engines import capacity, folders
from roost.engines.base import Abilities, AgentState
from roost.machine import umasks
from roost.machine.processes import Known

_LARGEST = 64 * 1024
_ANSWER_SECONDS = 60.0
_END_SECONDS = 5.0
_GRACE = 10.0
"""Seconds between SIGTERM to an agent and killing it."""


class Settings(Protocol):
    @property
    def home(self) -> Path: ...


def abilities(settings: Settings) -> Abilities:  # noqa: ARG001 the same with any settings
    return Abilities(logical_nodes=True, shared_disk=True, capacity=capacity.of_this_machine())


def make(settings: Settings) -> "LocalEngine":
    return LocalEngine(settings.home)


class LocalEngine:
    """See `base.Engine`."""

    def __init__(self, home: Path) -> None:
        self._home = home.absolute()
        self._warm = _Warm()

    def start(self, plan: Plan, access: Access) -> str:
        try:
            return self._start(plan, access)
        except _WarmDied:
            # It may have died after the fork: the new keeper then holds the lock, and must stay the only one.
            place = seat(plan.run_id, plan.node_rank, plan.attempt)
            if folders.is_locked(self._folder(place)):
                return self._handle(0, 0, place)
            return self._start(plan, access)

    def _start(self, plan: Plan, access: Access) -> str:
        folder, lock = folders.make(self._home, plan, access)
        try:
            answer = self._warm.ask(folder, lock)
        finally:
            os.close(lock)
        if "error" in answer:
            raise Unavailable(str(answer["error"]), hint="Look at the limits on processes and memory of this machine.")
        return self._handle(int(answer["pid"]), int(answer["started"]), folder.name)

    def status(self, handle: str) -> AgentState:
        return AgentState.ALIVE if any(self._living(handle)) else AgentState.GONE

    def stop(self, handle: str) -> None:
        """Sends SIGTERM to the agent, which ends its processes, stores their outputs and reports. If its processes are not gone
        in time, the agent is killed, and its keeper ends the rest."""
        agent, keeper = self._living(handle)
        if (agent or keeper) and not self._ended(handle):
            _kill(agent or keeper, signal.SIGTERM)
            timer = threading.Timer(_GRACE, self._insist, [handle])
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        self._warm.close()

    def _folder(self, seat: str) -> Path:
        return self._home / "runs" / seat

    def _living(self, handle: str) -> tuple[int, int]:
        """The pids of agent and keeper; 0 for one that is gone. A process of another home does not count, even if this home is a
        copy of that one and has its handle."""
        keeper = json.loads(handle)
        agent = _read(self._folder(keeper["run_id"]) / "agent.json")
        mark = folders.mark_of(self._home, keeper["run_id"])
        agent_pid, keeper_pid = (
            _alive(each.get("pid", 0), each.get("started", 0)) if each.get("mark", mark) == mark else 0
            for each in (agent, keeper)
        )
        return agent_pid, keeper_pid

    def _handle(self, pid: int, started: int, seat: str) -> str:
        mark = folders.mark_of(self._home, seat)
        return json.dumps({"pid": pid, "started": started, "run_id": seat, "mark": mark})

    def _insist(self, handle: str) -> None:
        agent, keeper = self._living(handle)
        if not agent or self._ended(handle):
            return
        _kill(agent, signal.SIGKILL)
        if not keeper:
            for pid in _marked(folders.mark_of(self._home, json.loads(handle)["run_id"])):
                _kill(pid, signal.SIGKILL)

    def _ended(self, handle: str) -> bool:
        """True when the run's processes have ended, or are being ended, and the agent only ships data, which may take long."""
        folder = self._folder(json.loads(handle)["run_id"])
        return (folder / "ended.json").exists() or _read(folder / "agent.json").get("errand") == Errand.SALVAGE


class _WarmDied(Unavailable):
    """The warm process ended without an answer; a new one has been started."""


class _Warm:
    """The warm process and the socket to it. One request at a time; a process that died is replaced."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def ask(self, folder: Path, lock: int) -> dict[str, Any]:
        """Requests a keeper for this folder, which takes over the lock. Raises _WarmDied when there was no answer."""
        with self._lock:
            try:
                socket.send_fds(self._channel, [json.dumps({"folder": str(folder)}).encode()], [lock])
                answer = self._channel.recv(_LARGEST)
            except OSError:
                answer = b""
            if answer:
                return dict(json.loads(answer))
            code = self._end()
            self._begin()
            raise _WarmDied(
                f"The process that agents are forked from ended with {code}.", hint="Its words are in the server's log."
            )

    def close(self) -> None:
        with self._lock:
            self._end()

    def _begin(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(_ANSWER_SECONDS)
        # By name, since engines do not import the agent; in its own session, so that Ctrl-C in a terminal does not end it.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "roost.agent.warm", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            umask=umasks.users(),
        )
        theirs.close()

    def _end(self) -> int:
        self._channel.close()
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return {}


def _alive(pid: int, started: int) -> int:
    """The pid, if exactly this process exists and is not a zombie; else 0."""
    return pid if Known(pid, started).lives else 0


def _marked(mark: str) -> Iterator[int]:
    """Processes with this mark in their environment."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"ROOST_MARK={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name)


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
