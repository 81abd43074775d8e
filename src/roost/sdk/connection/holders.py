"""Finds the process that holds a home's `server.lock`, and ends one that does not respond.

The kernel's lock decides: its holder is the home's server, announced or not, and no other can start while it is held.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from roost.machine import processes

LOCK = "server.lock"
_POLITE_SECONDS = 15.0
"""Seconds; a server that is asked to end does so within ten."""
_FORCED_SECONDS = 10.0


@dataclass(frozen=True)
class Holder:
    pid: int
    started: int
    """Start time in kernel ticks, because another process may get the same id later."""

    @property
    def age(self) -> float:
        """Seconds since the process started."""
        with open("/proc/uptime") as file:
            up = float(file.read().split()[0])
        return max(0.0, up - self.started / os.sysconf("SC_CLK_TCK"))


def find(home: Path) -> Holder | None:
    """The process that holds the lock; None when there is none, or none that this user can see."""
    try:
        lock = os.stat(home / LOCK)
    except OSError:
        return None
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if place.stat().st_uid in (os.getuid(), lock.st_uid) and _holds(place, lock):
                started = processes.started(int(place.name))
                if started is not None:
                    return Holder(int(place.name), started)
    return None


def _holds(process: Path, lock: os.stat_result) -> bool:
    for descriptor in os.listdir(process / "fd"):
        with contextlib.suppress(OSError):
            opened = os.stat(process / "fd" / descriptor)
            if os.path.samestat(opened, lock) and _took_it(process, descriptor):
                return True
    return False


def _took_it(process: Path, descriptor: str) -> bool:
    """True when the process locked the file itself: a program that it is about to start has the same descriptor for a moment."""
    lines = (process / "fdinfo" / descriptor).read_text().splitlines()
    return any(line.startswith("lock:") and {"FLOCK", process.name} <= set(line.split()) for line in lines)


def end(holder: Holder, home: Path) -> bool:
    """Asks the process to end, and kills it when it does not; True when it is gone. Acts only while it still holds this
    home's lock."""
    for number, seconds in ((signal.SIGTERM, _POLITE_SECONDS), (signal.SIGKILL, _FORCED_SECONDS)):
        try:
            process = os.pidfd_open(holder.pid)
        except ProcessLookupError:
            return True
        try:
            if find(home) != holder:
                return True
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
        finally:
            os.close(process)
        if _is_gone(holder, seconds):
            return True
    return False


def _is_gone(holder: Holder, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while processes.started(holder.pid) == holder.started:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
