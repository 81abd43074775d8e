"""Processes as Linux lists them. A number alone is no process: it is given again. With the time of its start it is one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """What /proc/PID/stat said of a process."""

    pid: int
    state: str
    """One letter: R runs, S and D sleep, T is stopped, Z and X have ended."""
    parent: int
    ticks: int
    """Of processors, all its threads together."""
    started: int
    """In the kernel's ticks since the machine started."""

    @property
    def is_zombie(self) -> bool:
        return self.state in "ZX"


@dataclass(frozen=True)
class Known:
    """A process that cannot be mistaken for a later one of the same number."""

    pid: int
    started: int

    @property
    def lives(self) -> bool:
        return started(self.pid) == self.started


def look(pid: int) -> Look | None:
    """None when it is not there."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    fields = data[data.rindex(b")") + 2 :].split()  # the name in brackets may hold anything
    return Look(pid, fields[0].decode(), int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[19]))


def known(pid: int) -> Known:
    """The process of that number now; one that is not there is known as gone."""
    found = look(pid)
    return Known(pid, found.started if found else 0)


def started(pid: int) -> int | None:
    """When a process began; None when it is not there, or has ended and only waits to be reaped."""
    found = look(pid)
    return None if found is None or found.is_zombie else found.started
