"""The control plane's log. When stderr is the server's own log file, that file is rotated, so that it cannot fill the disk.

A terminal, a service manager or a test that reads the output gets it directly.
"""

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST = 10 * 1024 * 1024
KEPT = 5
"""The number of older files; `server.log.1` is the newest of them."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class Rotating(RotatingFileHandler):
    """Redirects this process's stdout and stderr to the new file too, so that output from outside logging stays with the rest."""

    def __init__(
        self, path: Path, *, largest: int = LARGEST, kept: int = KEPT, follow: tuple[int, ...] = (1, 2)
    ) -> None:
        super().__init__(path, maxBytes=largest, backupCount=kept, encoding="utf-8", errors="backslashreplace")
        self._follow = follow
        self._turn()

    def doRollover(self) -> None:  # noqa: N802 the base class's name
        super().doRollover()
        self._turn()

    def _turn(self) -> None:
        if self.stream is None:
            return
        os.fchmod(self.stream.fileno(), 0o600)
        for descriptor in self._follow:
            os.dup2(self.stream.fileno(), descriptor)


def begin(path: Path) -> None:
    """Logs to stderr, and rotates the file when stderr is `path`."""
    handler = Rotating(path) if _is_same(sys.stderr.fileno(), path) else logging.StreamHandler(sys.stderr)
    logging.basicConfig(level=logging.INFO, format=_FORMAT, handlers=[handler])


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
