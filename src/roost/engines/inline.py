"""The engine for tests and debugging: `start` runs the agent in the foreground and returns when the run has ended.

No warm process, nothing in the background; the agent itself is the real one. Everything else is as with `local`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Protocol

from roost.domain.errors import Unavailable
from roost.domain.plans import Access, Plan
from roost.engines import capacity, folders
from roost.engines.base import Abilities, AgentState
from roost.machine import umasks


class Settings(Protocol):
    @property
    def home(self) -> Path: ...


def abilities(settings: Settings) -> Abilities:  # noqa: ARG001 the same with any settings
    return Abilities(logical_nodes=True, shared_disk=True, capacity=capacity.of_this_machine())


def make(settings: Settings) -> "InlineEngine":
    return InlineEngine(settings.home)


class InlineEngine:
    """See `base.Engine`. A handle names a run; its agent is alive until `start` returns."""

    def __init__(self, home: Path) -> None:
        self._home = home.absolute()
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, plan: Plan, access: Access) -> str:
        folder, lock = folders.make(self._home, plan, access)
        handle = json.dumps({"run_id": folder.name})
        try:
            command = [sys.executable, "-P", "-m", "roost.agent", str(folder), "--lock", str(lock)]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[lock], start_new_session=True, umask=umasks.users()
            )
        except OSError as error:
            raise Unavailable(f"No process can be started for {plan.run_id}: {error.strerror}.") from error
        finally:
            os.close(lock)
        with self._lock:
            self._running[handle] = process
        process.wait()
        with self._lock:
            del self._running[handle]
        return handle

    def status(self, handle: str) -> AgentState:
        with self._lock:
            if handle in self._running:
                return AgentState.ALIVE
        # Another engine object may be running it.
        folder = self._home / "runs" / json.loads(handle)["run_id"]
        return AgentState.ALIVE if folders.is_locked(folder) else AgentState.GONE

    def stop(self, handle: str) -> None:
        with self._lock:
            process = self._running.get(handle)
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Nothing is kept between starts."""
