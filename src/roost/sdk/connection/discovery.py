"""What is written down about the embedded control plane of ROOST_HOME, and whether it is still true.

`server.json` outlives a server that was killed: its process id may belong to another process by now, its port to another
program. Identity is the process's start time and, over the wire, the instance.
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
"""Half a second of a processor; one that is idle takes a few hundredths of that."""


@dataclass(frozen=True, kw_only=True)
class ServerRecord:
    """server.json."""

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
    """What the last server wrote; None when there is nothing that makes sense."""
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
    """Tells a process that works, but has no time, from one that is stuck: the first uses its processor or waits for it."""

    def __init__(self) -> None:
        self._pid, self._before = 0, 0

    def begin(self, pid: int) -> None:
        """Looks at a process for the first time; later looks at the same one change nothing."""
        if pid != self._pid:
            self._pid, self._before = pid, _effort(pid)[1]

    def is_made(self) -> bool:
        """Whether it has worked since, or would if it were its turn."""
        state, ticks = _effort(self._pid)
        return state in ("R", "D") or (state != "T" and ticks - self._before >= _LEAST_TICKS)


def _effort(pid: int) -> tuple[str, int]:
    """A process's state and the ticks that it has had of processors, all its threads together."""
    found = processes.look(pid)
    return (found.state, found.ticks) if found else ("", 0)


def note_down(at: Path, record: ServerRecord) -> None:
    """Notes that this server is meant to end: nobody who waits for it takes its end for a crash and starts another.
    As the target of a link: that needs no room on a full disk."""
    part = at / f".down.{os.getpid()}"
    part.unlink(missing_ok=True)
    part.symlink_to(record.instance)
    part.replace(at / "down")


def was_put_down(at: Path, record: ServerRecord | None) -> bool:
    """Whether the server that is gone was meant to end."""
    try:
        return record is None or os.readlink(at / "down") == record.instance
    except (OSError, ValueError):
        return False


def is_alive(record: ServerRecord) -> bool:
    """Whether the very process that wrote the record lives."""
    return processes.started(record.pid) == record.pid_started
