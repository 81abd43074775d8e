"""Registered data, and which run read or wrote it. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.datasets import Dataset, DataUse


class Datasets(Protocol):
    """Registered ones by (workspace, name, version), and lineage: which run read or wrote which data."""

    def register(self, dataset: Dataset, *, new_version: bool) -> tuple[Dataset, bool]:
        """With the version that it has, and whether that is new. The newest version's definition again is that version, with
        these tags added, and this description if there is one. Another definition: Conflict unless it is to be a new version."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Dataset:
        """The newest version when none is named."""

    def by_id(self, workspace: str, dataset_id: str) -> Dataset: ...
    def list(self, workspace: str, name: str | None = None) -> Sequence[Dataset]:
        """The newest version of each by name; of one name all versions, newest first."""

    def annotate(
        self,
        workspace: str,
        dataset_id: str,
        *,
        tags: Mapping[str, str] | None = None,
        remove_tags: Sequence[str] = (),
        description: str | None = None,
    ) -> Dataset: ...
    def delete(self, workspace: str, name: str) -> int:
        """All versions; how many there were. What runs read stays with them."""

    def note(self, uses: Sequence[DataUse]) -> None:
        """Keeps these; one of the same run, direction and name is replaced. NotFound when there is no such run."""

    def uses_of_run(self, run_id: str) -> Sequence[DataUse]:
        """Inputs first, each direction by time."""

    def uses_of_dataset(self, dataset_id: str, limit: int) -> Sequence[DataUse]:
        """Newest run first."""
