"""The control plane's log. Where its output goes to its own file, that file is rotated while it runs: it fills no disk.

A terminal, a service manager or a test that reads the output itself gets it as it comes.
"""

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST = 10 * 1024 * 1024
KEPT = 5
"""Older files: `server.log.1` is the youngest of them."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class Rotating(RotatingFileHandler):
    """Turns this process's own stdout and stderr to the new file too: what does not come through logging stays with the rest."""

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
    """Logs to stderr; through a file that rotates when stderr is that file."""
    handler = Rotating(path) if _is_same(sys.stderr.fileno(), path) else logging.StreamHandler(sys.stderr)
    logging.basicConfig(level=logging.INFO, format=_FORMAT, handlers=[handler])


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
