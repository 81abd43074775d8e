"""The live text of runs. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Merge:
    """A stream that collects the lines of several streams."""

    name: str
    prefix: bytes
    """The text before each line."""


class Pieces(Protocol):
    """Stores bytes that are too long for rows: a blob store, for example. Pieces that rows name are never swept."""

    def put(self, data: bytes) -> str:
        """Stores immutable bytes; returns their name."""

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]: ...


class Streams(Protocol):
    """Live text of a run (stdout, files under ./logs), addressed by offset, until it is sealed into a blob."""

    def append(
        self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False, into: Merge | None = None
    ) -> int:
        """As for spools: accepts bytes only at the mark, and returns the mark. `reset` empties the stream first. Whole lines
        are also added to the stream `into`, in the same transaction, with very long lines broken; a reset removes the
        stream's earlier lines there."""

    def merge_rest(self, run_id: str, name: str, into: Merge) -> None:
        """Merges a stream's last line too, which has no line break yet."""

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        """Bytes from `offset`, at most `limit`; empty past the end or when there is no such stream."""

    def size(self, run_id: str, name: str) -> int | None:
        """Bytes so far; None when there is no such stream."""

    def names(self, run_id: str) -> Sequence[str]: ...
    def drop(self, run_id: str, names: Sequence[str]) -> None:
        """Removes streams; called once their sealed blobs are in the run's files."""
