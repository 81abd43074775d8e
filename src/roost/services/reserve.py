"""Reserved disk space: a file in the home that is deleted on a full disk, so that a control plane can start and `roost gc` can
free more.

Without it, freeing space would need space first: a start writes to the database, and so does the deletion of a run.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from roost.domain.errors import DiskFull

T = TypeVar("T")

NAME = "reserve"
SIZE = 8 * 1024 * 1024
NEEDED = 1024 * 1024
"""Several times the bytes that a start needs."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """**Threads**: any. Safe to make and to give up twice."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / NAME

    def give_up(self) -> bool:
        """Deletes the file; True when it existed."""
        try:
            self._file.unlink()
        except OSError:
            return False
        return True

    def give_up_if_full(self) -> bool:
        """Deletes the file when the disk has no room for a start; True when it did."""
        return not self._has_room() and self.give_up()

    def make(self) -> None:
        """Makes the file again when there is ample room; does nothing when there is not, or when the disk cannot reserve."""
        with contextlib.suppress(OSError):
            found = os.statvfs(self._home)
            if self._file.exists() or found.f_bavail * found.f_frsize < 2 * SIZE:
                return
            part = self._file.with_name(f".{NAME}.part")
            try:
                _fill(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), SIZE)
                part.replace(self._file)
            finally:
                part.unlink(missing_ok=True)

    def _has_room(self) -> bool:
        """Writes a probe: a quota shows in no other way."""
        try:
            descriptor, probe = tempfile.mkstemp(dir=self._home, prefix=".room.")
        except OSError as error:
            return error.errno not in NO_ROOM
        try:
            _fill(descriptor, NEEDED)
        except OSError as error:
            return error.errno not in NO_ROOM
        finally:
            Path(probe).unlink(missing_ok=True)
        return True


def spend(reserve: Reserve | None, deed: Callable[[], T]) -> T:
    """Runs a deed that frees space, such as deleting rows; when the database has no room for it, deletes the reserve and tries
    once more. DiskFull when that is not enough."""
    try:
        return deed()
    except DiskFull:
        if reserve is None or not reserve.give_up():
            raise
        return deed()


def _fill(descriptor: int, size: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)
