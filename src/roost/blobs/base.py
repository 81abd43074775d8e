"""The interface of a blob store: content-addressed bytes that never change."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from roost.domain.errors import InvalidInput


class WrongHash(InvalidInput):
    """The content does not match its name."""


@runtime_checkable
class Inflow(Protocol):
    """Incoming bytes, which can be read once: piece by piece, or moved into a file by the kernel."""

    def __iter__(self) -> Iterator[bytes | memoryview]: ...

    def pour(self, target: int, progress: Callable[[int], object]) -> int:
        """Appends all of them to an open file; returns their number. `progress` gets the size of each part once it is written."""


class Blobs(Protocol):
    """**Threads and processes**: any number at once; two may put the same content.
    **Whole or not at all**: an existing blob is complete, even if a writer was killed.
    **Sweeping**: `discard` removes a blob only if it was not used since the given time. Putting content that exists already
    counts as use, and so do `missing` and `keep`; so a blob that was reported as existing stays for the sweep's grace.
    **Raises**: NotFound, WrongHash, InvalidInput, DiskFull."""

    def put(self, data: bytes) -> str:
        """Stores small content; returns its hash."""

    def put_file(self, path: Path) -> tuple[str, int]:
        """Stores a copy of a file's content, hashed while it is copied; returns hash and size."""

    def put_stream(self, chunks: Iterable[bytes | memoryview] | Inflow, *, expected: str) -> int:
        """Stores content that arrives piece by piece; returns its size. InvalidInput when its hash is not `expected`."""

    def put_unnamed(self, chunks: Iterable[bytes | memoryview] | Inflow) -> tuple[str, int]:
        """Stores content whose hash is not known before; returns hash and size."""

    def get(self, name: str) -> bytes: ...

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """The content, piece by piece."""

    def size(self, name: str) -> int | None:
        """Its size in bytes; None when it does not exist."""

    def keep(self, name: str) -> int | None:
        """Like `size`, but counts as use."""

    def missing(self, names: Iterable[str]) -> list[str]:
        """The names without a blob, in the given order, each once."""

    def walk(self) -> Iterator[tuple[str, int, float]]:
        """Every blob: name, size, and time of last use, accurate to a few minutes."""

    def discard(self, name: str, *, unless_since: float) -> int | None:
        """Removes a blob that was not used since that time; returns the bytes freed, None when it stays or does not exist."""

    def copy_to(self, name: str, target: Path, mode: int, progress: Callable[[int], None] = ...) -> None:
        """Writes an independent copy to `target`, whose folder exists; it can never change the stored bytes. `progress` is called
        for each part of a large blob; an error from it ends the copying."""
