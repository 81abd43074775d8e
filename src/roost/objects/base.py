"""The interface of a storage. Paths are relative, with slashes, and have passed `names.path`; an empty one is all of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """A file in a storage."""

    path: str
    size: int
    etag: str
    """Changes with the content; empty when the storage does not provide it."""
    modified_at: float | None


class Storage(Protocol):
    """Raises errors of `domain.errors`; they never contain a credential or a signed address."""

    def list(self, path: str) -> Iterator[Found]:
        """The file at that path, or all files below that folder; nothing when neither exists."""

    def head(self, path: str) -> Found | None: ...
    def read(self, found: Found, offset: int, length: int) -> Iterator[bytes]:
        """That part of the file, piece by piece. NotFound when it is gone, Conflict when it has changed since it was found."""

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> int:
        """Makes or replaces a file, whole or not at all; returns its size."""

    def local(self, path: str) -> str:
        """The path of a listed file on the control plane's machine; empty when it is not there."""

    def addresses(self, paths: Sequence[str]) -> Sequence[str]:
        """For each path an address that anyone can read for a while; empty when only the control plane can read the file."""
