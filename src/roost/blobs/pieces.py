"""A part of a file to be sent: piece by piece, or as an open file for a caller that can send files directly."""

import os
from collections.abc import Iterator

_PIECE = 1024 * 1024


class FilePieces(Iterator[bytes]):
    """The next `count` bytes of the open `file` from `offset` on. The file is closed at the end, or with this object."""

    def __init__(self, file: int, offset: int, limit: int | None) -> None:
        self.file = file
        self.offset = offset
        there = max(0, os.fstat(file).st_size - offset)
        self.count = there if limit is None else min(limit, there)

    def __next__(self) -> bytes:
        piece = os.pread(self.file, min(_PIECE, self.count), self.offset) if self.count else b""
        if not piece:
            self.close()
            raise StopIteration
        self.offset += len(piece)
        self.count -= len(piece)
        return piece

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
        self.file, self.count = -1, 0

    __del__ = close
