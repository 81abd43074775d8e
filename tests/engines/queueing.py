"""An engine with a queue of its own, for tests: it holds every agent back until a test lets it in, then starts it as the embedded
engine does. What waits is in files, so the queue outlives the engine, and a test reaches the queue of another process.

queue/open          while it is there every agent is let in     queue/SEAT.ticket   an agent that waits: its plan and access
queue/SEAT.go       this agent is let in                        queue/SEAT.taken    it is being started
queue/why           the words of the queue                      queue/SEAT.begun    the embedded engine's handle; empty: it failed
"""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.domain.codec import decode, encode
from roost.domain.errors import Conflict, RoostError
from roost.domain.plans import Access, Plan, seat
from roost.engines.base import Abilities, AgentState, Waiting
from roost.engines.local import LocalEngine

WHY = "Twin: HELD (nobody let it in)"
_TICK = 0.02


def abilities(settings: Any) -> Abilities:
    return Abilities(queues=True, shared_disk=True)


def make(settings: Any) -> "QueueingEngine":
    return QueueingEngine(settings.home)


def let_in(home: Path, handle: str) -> None:
    """Lets one agent in; nothing happens when it does not wait."""
    (home / "queue" / f"{handle}.go").touch()


def let_all_in(home: Path) -> None:
    (home / "queue").mkdir(exist_ok=True)
    (home / "queue" / "open").touch()


class QueueingEngine:
    """See `roost.engines.base.Engine`. A handle is the agent's seat in its run."""

    def __init__(self, home: Path) -> None:
        self._local = LocalEngine(home)
        self._folder = home / "queue"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        for taken in self._folder.glob(
            "*.taken"
        ):  # of one that was killed: started again, it is refused if it is there
            self._rename(taken, taken.with_suffix(".ticket"))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def start(self, plan: Plan, access: Access) -> str:
        handle = seat(names.run_id(plan.run_id), plan.node_rank, plan.attempt)
        with self._lock:
            match self.status(handle):
                case Waiting():
                    return handle
                case AgentState.ALIVE:
                    raise Conflict(f"Run {handle} has an agent already.")
            for old in ("begun", "go"):
                self._file(handle, old).unlink(missing_ok=True)
            _write(self._file(handle, "ticket"), json.dumps({"plan": encode(plan), "access": encode(access)}))
        return handle

    def status(self, handle: str) -> AgentState | Waiting:
        # In the order in which an agent goes through them, so that none is missed on its way.
        if self._file(handle, "ticket").exists() or self._file(handle, "taken").exists():
            return Waiting(_read(self._folder / "why") or WHY)
        begun = _read(self._file(handle, "begun"))
        return self._local.status(begun) if begun else AgentState.GONE

    def stop(self, handle: str) -> None:
        with self._lock:
            self._file(handle, "ticket").unlink(missing_ok=True)
            begun = _read(self._file(handle, "begun"))
        if begun:
            self._local.stop(begun)

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self._local.close()

    def _serve(self) -> None:
        while not self._closing.wait(_TICK):
            for ticket in self._folder.glob("*.ticket"):
                if (self._folder / "open").exists() or ticket.with_suffix(".go").exists():
                    with self._lock:
                        self._begin(ticket)

    def _begin(self, ticket: Path) -> None:
        taken = ticket.with_suffix(".taken")
        if not self._rename(ticket, taken):
            return  # another engine object has it, or it was taken out of the queue
        asked = json.loads(taken.read_bytes())
        try:
            handle = self._local.start(decode(Plan, asked["plan"]), decode(Access, asked["access"]))
        except Conflict:
            handle = json.dumps({"pid": 0, "started": 0, "run_id": ticket.stem})
        except RoostError:
            handle = ""
        _write(ticket.with_suffix(".begun"), handle)
        taken.unlink(missing_ok=True)

    def _file(self, handle: str, kind: str) -> Path:
        return self._folder / f"{handle}.{kind}"

    def _rename(self, old: Path, new: Path) -> bool:
        with contextlib.suppress(FileNotFoundError):
            old.rename(new)
            return True
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    part.rename(path)
