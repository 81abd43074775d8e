"""Locks of files, held across processes. The kernel frees one when its holder ends, however that ends.

Descriptors are not inherited by programs that the holder starts. On Windows nothing is shared through ROOST_HOME, and every lock
is free.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

if sys.platform != "win32":
    import fcntl

_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)


def take(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool:
    """True when this open file is locked now; False when others are in the way and `wait` is not set."""
    if sys.platform != "win32":
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def give_back(descriptor: int) -> None:
    """Frees it for every process that has inherited the descriptor."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def hold(path: Path, *, shared: bool = False) -> int:
    """Waits for the lock of a file, made if missing; held as long as the returned descriptor is open."""
    descriptor = os.open(path, _OPEN | os.O_CREAT, 0o600)
    try:
        take(descriptor, shared=shared, wait=True)
    except BaseException:  # Ctrl-C while it waits, or a file system that has no locks
        os.close(descriptor)
        raise
    return descriptor


def try_hold(path: Path, *, flags: int = 0) -> int | None:
    """As `hold`, alone; None when somebody else has it."""
    descriptor = os.open(path, _OPEN | os.O_CREAT | flags, 0o600)
    is_taken = False
    try:
        is_taken = take(descriptor)
    finally:
        if not is_taken:
            os.close(descriptor)
    return descriptor if is_taken else None


def is_held(path: Path) -> bool:
    """True when a process holds it now; False also when there is no such file."""
    try:
        descriptor = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        return not take(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """While the block runs. Waits."""
    descriptor = hold(path, shared=shared)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def tried(path: Path) -> Iterator[bool]:
    """While the block runs, if nobody else has it now: True then."""
    descriptor = try_hold(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


class FileLock:
    """Holds `path` exclusively; made if missing, its folder is not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self, *, wait: bool = True) -> bool:
        """True when it is held now."""
        taken = hold(self._path) if wait else try_hold(self._path)
        if taken is None:
            return False
        self._descriptor = taken
        return True

    def release(self) -> None:
        """Safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
