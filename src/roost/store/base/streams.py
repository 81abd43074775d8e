"""The live text of runs. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Merge:
    """Where lines of several streams come together."""

    name: str
    prefix: bytes
    """Before each line."""


class Pieces(Protocol):
    """Where a store puts bytes that are too many for its rows: a blob store is one. What its rows name is never swept."""

    def put(self, data: bytes) -> str:
        """Stores bytes that never change; their name."""

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]: ...


class Streams(Protocol):
    """Live text of a run (stdout, files under ./logs), addressed by offset, until it is sealed into a blob."""

    def append(
        self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False, into: Merge | None = None
    ) -> int:
        """As for spools: taken in only at the mark; returns the mark. `reset` empties the stream first. Whole lines are added to
        the stream that `into` names too, in the same transaction, very long ones broken; after a reset its earlier lines
        are taken out there."""

    def merge_rest(self, run_id: str, name: str, into: Merge) -> None:
        """A stream's last line, which no line break has ended, is merged too."""

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        """Bytes from `offset`, at most `limit`; empty past the end or when there is no such stream."""

    def size(self, run_id: str, name: str) -> int | None:
        """Bytes so far; None when there is no such stream."""

    def names(self, run_id: str) -> Sequence[str]: ...
    def drop(self, run_id: str, names: Sequence[str]) -> None:
        """Called once the sealed blobs stand in the run's files."""
