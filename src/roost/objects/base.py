"""The promise of a place. Paths are relative, with slashes, and have passed `names.path`; an empty one is the whole place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """A file in a place."""

    path: str
    size: int
    etag: str
    """Changes when its content does; empty when the place cannot tell."""
    modified_at: float | None


class Storage(Protocol):
    """Errors are those of `domain.errors`, and no credential or signed address is ever in one."""

    def list(self, path: str) -> Iterator[Found]:
        """The file of that path, or all those below the folder of that path; nothing when there is neither."""

    def head(self, path: str) -> Found | None: ...
    def read(self, found: Found, offset: int, length: int) -> Iterator[bytes]:
        """That stretch of the file as it was found, piece by piece; NotFound, Conflict when it is another version now."""

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> int:
        """Makes or replaces a file: whole or not at all. Its size."""

    def local(self, path: str) -> str:
        """Where a file that was listed is on the control plane's machine; empty when it is not on it."""

    def addresses(self, paths: Sequence[str]) -> Sequence[str]:
        """Where each can be had by anybody for a while; empty for one that only the control plane can have."""
