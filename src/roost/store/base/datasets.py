"""Registered data, and which run read or wrote it. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.datasets import Dataset, DataUse


class Datasets(Protocol):
    """Registered datasets by (workspace, name, version), and lineage: which run read or wrote which data."""

    def register(self, dataset: Dataset, *, new_version: bool) -> tuple[Dataset, bool]:
        """Returns the dataset with its version, and True when that is new. The newest version's definition again is the same
        version, with these tags added, and this description if there is one. Another definition raises Conflict unless
        `new_version`."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Dataset:
        """The newest version by default."""

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
        """Deletes all versions; returns their number. Runs keep the records of the data they read."""

    def note(self, uses: Sequence[DataUse]) -> None:
        """Stores these uses; replaces one of the same run, direction and name. Raises NotFound when the run does not exist."""

    def uses_of_run(self, run_id: str) -> Sequence[DataUse]:
        """Inputs first, each direction by time."""

    def uses_of_dataset(self, dataset_id: str, limit: int) -> Sequence[DataUse]:
        """Newest run first."""
