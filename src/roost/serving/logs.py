"""Log files of limited size: the access log, and records. Lines are collected for a moment and written together."""

import logging
import os
from pathlib import Path

log = logging.getLogger("roost.serving")
_GATHERED = 64 * 1024


class RotatingLines:
    """`name`, then `name.1` (younger) to `name.N`, each of at most `largest` bytes. A full disk loses lines, and nothing else."""

    def __init__(self, path: Path, *, largest: int, kept: int) -> None:
        self.path = path
        self.lost = 0
        self._largest = largest
        self._kept = kept
        self._lines: list[bytes] = []
        self._gathered = 0
        self._file = -1
        self._size = 0

    def add(self, line: bytes) -> None:
        """Adds one line, with its line end. It is on disk after the next `flush`, which the front calls regularly."""
        self._lines.append(line)
        self._gathered += len(line)
        if self._gathered >= _GATHERED:
            self.flush()

    def flush(self) -> None:
        if not self._lines:
            return
        lines, self._lines, self._gathered = self._lines, [], 0
        try:
            self._write(b"".join(lines))
        except OSError as error:
            if not self.lost:
                log.error("%s cannot be written, lines are dropped: %s.", self.path, error)
            self.lost += len(lines)

    def close(self) -> None:
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes) -> None:
        if self._file < 0:
            self._open()
        elif self._size + len(data) > self._largest and self._size:
            self._rotate()
        self._size += os.write(self._file, data)

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size

    def _rotate(self) -> None:
        os.close(self._file)
        self._file = -1
        for number in range(self._kept, 0, -1):
            older = self.path if number == 1 else numbered(self.path, number - 1)
            if older.exists():
                older.replace(numbered(self.path, number))
        self._open()


def numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
