"""Finds the processes of a run, by ancestry and by mark, and ends all of them.

The keeper is a subreaper, so every orphan of a script, setsid children too, becomes the keeper's child: its descendants are the
whole run. The mark (`ROOST_MARK` in a process's environment) finds remaining processes once the keeper is gone. Linux only.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from roost.machine import umasks
from roost.machine.processes import Known, look

MARK = "ROOST_MARK"
POLITE_SECONDS = 5.0
"""How long a process has after SIGTERM."""
_KILL_SECONDS = 4.0


def descendants(root: int) -> list[Known]:
    """All processes below a process, without zombies and without the process itself."""
    found: list[Known] = []
    waiting = _children(root)
    seen = {root}
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        waiting += _children(pid)
        there = look(pid)
        if there and not there.is_zombie:
            found.append(Known(pid, there.started))
    return found


def _children(pid: int) -> list[int]:
    """Children of all threads of a process: a child belongs to the thread that made it."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += [int(word) for word in file.read().split()]
    return children


def marked(mark: str) -> list[Known]:
    """Processes of this user with this mark (`Folder.mark`) in their environment, whatever their parent."""
    wanted = f"{MARK}={mark}".encode()
    found: list[Known] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                there = look(int(name))
                if there and not there.is_zombie:
                    found.append(Known(there.pid, there.started))
    return found


class Tree:
    """The processes of one run: all below its roots (keeper, agent) and all with the mark, but not the roots."""

    def __init__(self, mark: str, *roots: Known, everywhere: bool = False) -> None:
        """`everywhere`: the run has processes outside this tree, those in a container."""
        self._mark = mark
        self._roots = roots
        self.everywhere = everywhere
        self.spared: Callable[[], Iterable[int]] = tuple
        """Ids of processes that outlive the script: those that serve its mounts."""

    def members(self, *, marks: bool = True) -> list[Known]:
        roots = {root.pid for root in self._roots if root.lives}
        found = {process.pid: process for root in roots for process in descendants(root)}
        if marks:
            found.update((process.pid, process) for process in marked(self._mark))
        kept = roots.union(self.spared())
        return [process for pid, process in found.items() if pid not in kept]

    def end(self, *, polite: float = POLITE_SECONDS, meanwhile: Callable[[], None] = lambda: None) -> int:
        """Sends SIGTERM to all, SIGKILL to the rest after `polite` seconds (0: at once); returns their number. At most 10 s.

        `meanwhile` is called as the processes end, so that a parent can reap its children.
        """
        # While the keeper lives, every orphan is its child, so a scan of all of /proc is not needed.
        alone = not self._roots or not all(root.lives for root in self._roots)
        first = self.members(marks=self.everywhere or alone)
        if not first:
            return 0
        met = {process.pid for process in first}
        if polite > 0:
            _signal(first, signal.SIGTERM)
            _signal(first, signal.SIGCONT)  # a stopped process handles SIGTERM only after SIGCONT
            _await_end(first, polite, meanwhile)
        deadline = time.monotonic() + _KILL_SECONDS
        while left := self.members():
            met.update(process.pid for process in left)
            _signal(left, signal.SIGKILL)
            _await_end(left, 0.5, meanwhile)
            if time.monotonic() > deadline:
                break
        return len(met)


def _signal(processes: Iterable[Known], number: signal.Signals) -> None:
    for process in processes:
        fd = _hold(process)
        if fd is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(fd, number)
            os.close(fd)


def _hold(process: Known) -> int | None:
    """A file descriptor of exactly this process; None when it is gone."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return None
    if process.lives:
        return fd
    os.close(fd)
    return None


def _await_end(processes: Iterable[Known], seconds: float, meanwhile: Callable[[], None]) -> None:
    """Returns when all of them have ended, or after `seconds`."""
    deadline = time.monotonic() + seconds
    for process in processes:
        fd = _hold(process)
        if fd is not None:
            _readable([fd], deadline - time.monotonic())
            os.close(fd)
        meanwhile()


def _readable(fds: Sequence[int], seconds: float | None) -> set[int]:
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    milliseconds = None if seconds is None else max(0, int(seconds * 1000 + 0.999))
    return {fd for fd, _ in poller.poll(milliseconds)}


class Running(Protocol):
    """A process that the agent started, directly or in a container."""

    fd: int
    """Readable once it has ended."""

    @property
    def name(self) -> str:
        """For the agent's log."""

    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs."""


class Started:
    """A process that the agent started: in a session of its own, with both outputs in one appended file."""

    def __init__(self, argv: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path) -> None:
        """Raises OSError when it cannot be started."""
        with open(log, "ab", buffering=0) as output:
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                umask=umasks.users(),
            )
        self.pid = self._process.pid
        self.fd = os.pidfd_open(self.pid)

    @property
    def name(self) -> str:
        return f"pid {self.pid}"

    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs."""
        return self._process.poll()


def wait(processes: Sequence[Running], wake: int | None = None, deadline: float | None = None) -> bool:
    """Waits until one of the processes has ended, `wake` is readable or the deadline (monotonic) passes; False for the deadline.

    Returns at once when a process has already ended.
    """
    left = None if deadline is None else deadline - time.monotonic()
    fds = [process.fd for process in processes]
    return bool(_readable([*fds, wake] if wake is not None else fds, left))
