"""Finds changes in a run's folder. It runs several times a second during the whole run, so it opens no file and makes few
objects. A look without a change costs about fifty microseconds; a round of `ship` costs ten times as much.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from roost.agent.folder import Folder

_SHARE, _QUIET_SHARE = 20, 1000
"""A scan of `./logs` takes at most one part in 20 of the time while files there change, and one in 1000 while none does."""
_LONGEST = 5.0
SYSTEM = "system-"
"""The prefix of the spools of system metrics."""


@dataclass(frozen=True)
class Seen:
    """Equal to an earlier one when nothing has changed since."""

    own: tuple[object, ...] = ()
    """The script's metrics, output and uploads; not the system metrics, whose own thread calls `Ship.hurry`."""
    logs: tuple[tuple[str, int], ...] = ()
    """Files under `./logs`."""


class Growth:
    """Checks the files that `ship` sends. For one thread."""

    def __init__(self, folder: Folder, logs: Callable[[], Iterable[tuple[str, Path]]]) -> None:
        """`logs` returns the files under `./logs`; there may be many."""
        self._logs = logs
        self._logs_folder = os.fspath(folder.work / "logs")
        self._std_log, self._staged = os.fspath(folder.std_log), os.fspath(folder.staged)
        self._folders = (os.fspath(folder.spool), os.fspath(folder.ranks))
        self._logs_seen: tuple[tuple[str, int], ...] = ()
        self._logs_due = 0.0

    def look(self) -> Seen:
        sizes: list[tuple[str, int]] = []
        for folder in self._folders:
            _add_sizes(folder, sizes)
        now = time.monotonic()
        if now >= self._logs_due:
            self._look_at_logs(now)
        return Seen((_size(self._std_log), _changed(self._staged), *sorted(sizes)), self._logs_seen)

    def _look_at_logs(self, now: float) -> None:
        if _is_empty(self._logs_folder):  # the usual case, at a tenth of the cost
            self._logs_seen = ()
            return
        before, self._logs_seen = self._logs_seen, tuple(sorted((name, _size(path)) for name, path in self._logs()))
        share = _QUIET_SHARE if before == self._logs_seen else _SHARE
        self._logs_due = now + min(share * (time.monotonic() - now), _LONGEST)


def _add_sizes(folder: str, sizes: list[tuple[str, int]]) -> None:
    """Adds the files of a folder and of its subfolders; does not enter linked folders."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _add_sizes(entry.path, sizes)
                elif not entry.name.startswith(SYSTEM):
                    sizes.append((entry.path, _size(entry.path)))
    except OSError:
        return


def _is_empty(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _size(path: str | Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _changed(folder: str) -> int:
    """When a file was last added to a folder or removed from it."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1
