"""The record of the embedded control plane of ROOST_HOME, and whether it is still valid.

`server.json` outlives a killed server: its process id may now belong to another process, its port to another program. Identity is
the process's start time and, over the wire, the instance.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from roost.domain import codec
from roost.domain.errors import InvalidInput, Unavailable
from roost.machine import processes

HOME_VARIABLE = "ROOST_HOME"
_LEAST_TICKS = 50
"""Half a second of processor time; an idle process uses a few hundredths of that."""


@dataclass(frozen=True, kw_only=True)
class ServerRecord:
    """The content of server.json."""

    url: str
    pid: int
    pid_started: int
    version: str
    api_level: int
    instance: str
    home: str
    started_at: float


def home() -> Path:
    """ROOST_HOME, `~/.roost` when it is not set; absolute."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(given).expanduser().absolute() if given else Path.home() / ".roost"


def record_path(at: Path) -> Path:
    return at / "server.json"


def log_path(at: Path) -> Path:
    return at / "logs" / "server.log"


def read_record(at: Path) -> ServerRecord | None:
    """The last server's record; None when it is missing or invalid."""
    try:
        return codec.decode(ServerRecord, json.loads(record_path(at).read_bytes()))
    except (OSError, ValueError, InvalidInput):
        return None


def read_token(at: Path) -> str:
    path = at / "token"
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"The token of the embedded control plane, {path}, cannot be read: {error}.",
            hint="`roost down`, then `roost up`, writes a new one.",
        ) from None


class Effort:
    """Distinguishes a busy process from a stuck one: a busy process uses the processor or waits for it."""

    def __init__(self) -> None:
        self._pid, self._before = 0, 0

    def begin(self, pid: int) -> None:
        """Starts to observe a process; a second call for the same process changes nothing."""
        if pid != self._pid:
            self._pid, self._before = pid, _effort(pid)[1]

    def is_made(self) -> bool:
        """True when the process has worked since `begin`, or is waiting for its turn."""
        state, ticks = _effort(self._pid)
        return state in ("R", "D") or (state != "T" and ticks - self._before >= _LEAST_TICKS)


def _effort(pid: int) -> tuple[str, int]:
    """A process's state and its processor ticks, summed over all threads."""
    found = processes.look(pid)
    return (found.state, found.ticks) if found else ("", 0)


def note_down(at: Path, record: ServerRecord) -> None:
    """Records that this server was stopped on purpose, so that waiting clients do not take its end for a crash and start
    another. Stored as a link's target, which needs no space on a full disk."""
    part = at / f".down.{os.getpid()}"
    part.unlink(missing_ok=True)
    part.symlink_to(record.instance)
    part.replace(at / "down")


def was_put_down(at: Path, record: ServerRecord | None) -> bool:
    """True when the server that is gone was stopped on purpose."""
    try:
        return record is None or os.readlink(at / "down") == record.instance
    except (OSError, ValueError):
        return False


def is_alive(record: ServerRecord) -> bool:
    """True when the same process that wrote the record is alive."""
    return processes.started(record.pid) == record.pid_started
