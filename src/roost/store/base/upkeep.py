"""Disk usage, and freeing space. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class References:
    """Names of blobs that rows refer to."""

    files: set[str]
    """Content of runs' files."""
    models: set[str]
    """Manifests of models."""
    archives: set[str]
    """Manifests of environments' archives."""
    others: set[str]
    """All others, including manifests. May contain names that are no blobs: every text that looks like a name counts, in any
    column, so that a new table cannot be forgotten."""


@dataclass(frozen=True, kw_only=True)
class ExperimentSize:
    workspace: str
    experiment: str
    runs: int
    bytes: int
    """Size of its runs' files; shared content counts for each file."""


class Upkeep(Protocol):
    def references(self, *, without: Sequence[str] = ()) -> References:
        """The blobs to keep; without those that only the runs `without` refer to."""

    def sizes(self) -> Sequence[ExperimentSize]:
        """Every experiment that has runs, largest first."""

    def size(self) -> int:
        """Size of the database in bytes."""

    def compact(self) -> int:
        """Returns the space of deleted rows to the file system; returns the bytes freed. Others may read and write meanwhile."""

    def copy_to(self, path: Path) -> None:
        """Writes all rows, as of one moment, to a new SQLite file. Others may read and write meanwhile."""
