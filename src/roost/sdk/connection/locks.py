"""One holder at a time, across processes: a file lock that ends with its holder, however that ends."""

import os
import sys
from pathlib import Path
from types import TracebackType

if sys.platform != "win32":
    import fcntl


class FileLock:
    """Holds `path` exclusively; made if missing, its folder is not. Programs that the holder starts do not inherit it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, *, wait: bool = True) -> bool:
        """Whether it is held now. On Windows, where nothing is shared through ROOST_HOME, it always is."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if sys.platform != "win32":
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(fd)
                return False
        self._fd = fd
        return True

    def release(self) -> None:
        """Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
