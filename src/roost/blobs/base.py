"""The promise of a blob store: content-addressed bytes that never change."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    """**Threads and processes**: any number at once; two that put the same content are both right.
    **Whole or not at all**: a blob that is there is complete, whatever was killed while it was written.
    **Raises**: NotFound, InvalidInput (the content is not what its name says), DiskFull."""

    def put(self, data: bytes) -> str:
        """Stores small content; its hash."""

    def put_file(self, path: Path, *, expected: str = "") -> tuple[str, int]:
        """Stores a file's content (copied, hashed on the way); hash and size. InvalidInput when `expected` is another hash."""

    def put_stream(self, chunks: Iterable[bytes], *, expected: str) -> int:
        """Stores what arrives piece by piece; its size. InvalidInput when its hash is not `expected`."""

    def get(self, name: str) -> bytes: ...

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """The content, piece by piece."""

    def size(self, name: str) -> int | None:
        """Bytes; None when it is not there."""

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those that are not there, in the order given, each once."""

    def copy_to(self, name: str, target: Path, mode: int) -> None:
        """A copy of its own at `target`, whose folder exists; the stored bytes can never be changed through it."""
