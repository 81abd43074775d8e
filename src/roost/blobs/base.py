"""The promise of a blob store: content-addressed bytes that never change."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from roost.domain.errors import InvalidInput


class WrongHash(InvalidInput):
    """The content is not what its name says."""


@runtime_checkable
class Inflow(Protocol):
    """Bytes that arrive, each once: piece by piece, or, where the kernel moves them, into a file."""

    def __iter__(self) -> Iterator[bytes | memoryview]: ...

    def pour(self, target: int, progress: Callable[[int], object]) -> int:
        """Appends all of them to an open file; how many. `progress` hears of each stretch once it is there."""


class Blobs(Protocol):
    """**Threads and processes**: any number at once; two that put the same content are both right.
    **Whole or not at all**: a blob that is there is complete, whatever was killed while it was written.
    **Sweeping**: `discard` takes away only what nobody has used since the time it is given. Putting content that is here already
    counts as use, and so do `missing` and `keep`; so whoever was told that a blob is here finds it for the sweep's grace.
    **Raises**: NotFound, WrongHash, InvalidInput, DiskFull."""

    def put(self, data: bytes) -> str:
        """Stores small content; its hash."""

    def put_file(self, path: Path) -> tuple[str, int]:
        """Stores a file's content (copied, hashed on the way); hash and size."""

    def put_stream(self, chunks: Iterable[bytes | memoryview] | Inflow, *, expected: str) -> int:
        """Stores what arrives piece by piece; its size. InvalidInput when its hash is not `expected`."""

    def put_unnamed(self, chunks: Iterable[bytes | memoryview] | Inflow) -> tuple[str, int]:
        """Stores what arrives before anybody knows its hash; hash and size."""

    def get(self, name: str) -> bytes: ...

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """The content, piece by piece."""

    def size(self, name: str) -> int | None:
        """Bytes; None when it is not there."""

    def keep(self, name: str) -> int | None:
        """As `size`, and counts as use."""

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those that are not there, in the order given, each once."""

    def walk(self) -> Iterator[tuple[str, int, float]]:
        """Every blob: name, size, and when it was used, a few minutes more or less."""

    def discard(self, name: str, *, unless_since: float) -> int | None:
        """Removes a blob that was not used since; how many bytes that freed, None when it stays or was not there."""

    def copy_to(self, name: str, target: Path, mode: int, progress: Callable[[int], None] = ...) -> None:
        """A copy of its own at `target`, whose folder exists; the stored bytes can never be changed through it. `progress` hears
        of each stretch of a large one, and what it raises ends the copying."""
