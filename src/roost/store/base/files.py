"""The files of runs. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.files import RunFile


class Files(Protocol):
    def put(self, run_id: str, files: Sequence[RunFile], *, node_rank: int = 0) -> Mapping[str, str]:
        """Adds or replaces by path. When two nodes have the same path with different content, the first node's file has that
        path and the other gets a path beside it, while they differ. Returns the files that were newly moved aside: old path
        and new path."""

    def rename(self, run_id: str, paths: Mapping[str, str]) -> None:
        """Renames files; existing files at the new paths are replaced."""

    def get(self, run_id: str, path: str) -> RunFile: ...
    def list(self, run_id: str, prefix: str = "") -> Sequence[RunFile]:
        """By path. `prefix` is a folder (`outputs` includes `outputs/a`, not `outputs2/a`), or one file's path."""
