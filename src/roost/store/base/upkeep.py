"""What takes room, and giving it back. The promises that hold for every noun are in `base/__init__.py`."""

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
    """Manifests of what is kept of environments."""
    others: set[str]
    """Anything else, manifests among it. May name what is no blob: whatever looks like a name in any column counts, so that no
    new table is ever forgotten."""


@dataclass(frozen=True, kw_only=True)
class ExperimentSize:
    workspace: str
    experiment: str
    runs: int
    bytes: int
    """Of its runs' files, each as if it stood alone."""


class Upkeep(Protocol):
    def references(self, *, without: Sequence[str] = ()) -> References:
        """What must be kept; what only the runs `without` refer to is left out."""

    def sizes(self) -> Sequence[ExperimentSize]:
        """Every experiment that has runs, largest first."""

    def size(self) -> int:
        """Bytes that the database takes."""

    def compact(self) -> int:
        """Gives room that deleted rows left back to the file system; how many bytes. Others read and write meanwhile."""

    def copy_to(self, path: Path) -> None:
        """Writes all rows, as they stood at one moment, to a new SQLite file. Others read and write meanwhile."""
