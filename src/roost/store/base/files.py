"""The files of runs. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.files import RunFile


class Files(Protocol):
    def put(self, run_id: str, files: Sequence[RunFile], *, node_rank: int = 0) -> Mapping[str, str]:
        """Adds or replaces by path. Of two nodes that have the same path with other content, the first one's stands there and
        the other's beside it, as long as they differ; which ones do so since now, by their path and where they stand."""

    def rename(self, run_id: str, paths: Mapping[str, str]) -> None:
        """Files get another path, where they replace what stands there."""

    def get(self, run_id: str, path: str) -> RunFile: ...
    def list(self, run_id: str, prefix: str = "") -> Sequence[RunFile]:
        """By path. `prefix` is a folder (`outputs` has `outputs/a`, not `outputs2/a`), or one file's own path."""
