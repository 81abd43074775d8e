"""Datasets in the SDK: a reference to data and the steps that apply when it is read. `FileDataset` is here, tables are in
`tabular_datasets.py`, constructors in `dataset_factory.py`. Datasets never change: each step returns a new one.
"""

import os
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from roost.domain import codec
from roost.domain import datasets as domain
from roost.domain.datasets import Definition
from roost.domain.datastores import Item
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.core import absent
from roost.sdk.data import dataset_files
from roost.sdk.data.datastore_kinds import require_workspace
from roost.sdk.data.expressions import Columns, written
from roost.transport.client import path_of
from roost_job.context import JobWorkspace
from roost_job.data import datasets as job
from roost_job.data import partitions
from roost_job.data.dataset_types import is_saved, saved_name

if TYPE_CHECKING:
    from roost.data.mounting import Mount
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.consumption import DatasetConsumptionConfig
    from roost.sdk.runs.runs import Run

D = TypeVar("D", bound="AbstractDataset")


class AbstractDataset:
    """The common part of file and tabular datasets."""

    _definition: Definition
    _workspace: "Workspace | None"
    _record: domain.Dataset | None

    @classmethod
    def _of(
        cls: type[D], definition: Definition, workspace: "Workspace | None", record: domain.Dataset | None = None
    ) -> D:
        made = cls.__new__(cls)
        made._definition, made._workspace, made._record = definition, workspace, record
        return made

    def __init__(self) -> None:
        raise InvalidInput(
            f"A {type(self).__name__} is not made directly.",
            hint="Use Dataset.File.from_files, Dataset.Tabular.from_delimited_files, …",
        )

    # ---- description

    @property
    def id(self) -> str | None:
        """None until it is registered, or saved because something refers to it."""
        return self._record.id if self._record else None

    @property
    def name(self) -> str | None:
        """None when it is not registered."""
        return self._record.name if self._record and not is_saved(self._record.name) else None

    @property
    def version(self) -> int | None:
        return self._record.version if self._record and self.name else None

    @property
    def description(self) -> str | None:
        return self._record.description if self._record else None

    @property
    def tags(self) -> dict[str, str]:
        return dict(self._record.tags) if self._record else {}

    @property
    def workspace(self) -> "Workspace | None":
        return self._workspace

    @property
    def partition_keys(self) -> list[str]:
        """The names in its partition format, in their order."""
        return partitions.names(self._definition.partition_format)

    @property
    def data_changed_time(self) -> datetime | None:
        """When the newest of its files was changed; None when the server does not report it."""
        times = [item.modified_at for item in self._files() if item.modified_at is not None]
        return datetime.fromtimestamp(max(times), UTC) if times else None

    def get_partition_key_values(self, partition_keys: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The values of these keys of its partition format, each combination once."""
        if not self.partition_keys:
            raise InvalidInput(
                "The dataset has no partition format, so its paths have no keys.",
                hint="Give one when it is made: partition_format='{region}/{day:yyyy/MM/dd}/*.csv'.",
            )
        keys = list(partition_keys) if partition_keys is not None else self.partition_keys
        if unknown := [key for key in keys if key not in self.partition_keys]:
            raise InvalidInput(
                f"{unknown} are not partition keys of the dataset.", hint=f"It has: {self.partition_keys}."
            )
        found = [dataset_files.partition_values(self, item) for item in self._files()]
        rows = [{key: values[key] for key in keys} for values in found]
        return [row for place, row in enumerate(rows) if keys and row not in rows[:place]]

    # ---- the registry

    def register(
        self: D,
        workspace: "Workspace | JobWorkspace",
        name: str,
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
        create_new_version: bool = False,
    ) -> D:
        """Registers it under a name in the workspace. The same definition again is the same version; another definition is a
        new version if requested, and a UserErrorException otherwise."""
        if isinstance(workspace, JobWorkspace):
            plain = job.make(workspace._data_link(), codec.encode(self._definition))
            found: D = plain.register(workspace, name, description, tags, create_new_version)
            return found
        self._require_same(workspace)
        body = {
            "definition": codec.encode(self._definition),
            "description": _description(description) or "",
            "tags": _tags(tags),
            "create_new_version": create_new_version,
        }
        route = path_of("workspaces", workspace.name, "datasets", domain.checked_name(name))
        record = codec.decode(domain.Dataset, workspace._connection.client.call("PUT", route, json=body))
        return type(self)._of(record.definition, workspace, record)

    def _saved(self: D, workspace: "Workspace | JobWorkspace") -> D:
        """Itself when it is registered; otherwise saves it without a name, so that its id can be referred to."""
        if self.id:
            return self
        return self.register(workspace, saved_name(codec.encode(self._definition)), create_new_version=True)

    def unregister_all_versions(self) -> None:
        """Removes all versions of the name from the registry. The data stays."""
        workspace, record = self._registered("unregister")
        workspace._connection.client.call("DELETE", path_of("workspaces", workspace.name, "datasets", record.name))
        self._record = None

    def add_tags(self, tags: Mapping[str, str] | None = None) -> dict[str, str]:
        return self._annotate({"tags": _tags(tags)})

    def remove_tags(self, tags: Sequence[str] | None = None) -> dict[str, str]:
        return self._annotate({"remove_tags": list(tags or ())})

    def update(self, description: str | None = None, tags: Mapping[str, str] | None = None) -> "AbstractDataset":
        """Replaces its tags and its description, each if given."""
        gone = [key for key in self.tags if tags is not None and key not in tags]
        self._annotate({"description": _description(description), "tags": _tags(tags), "remove_tags": gone})
        return self

    def get_runs(self) -> "list[Run]":
        """The runs that read or wrote this version, newest first."""
        workspace, record = self._registered("ask which runs used")
        route = path_of("workspaces", workspace.name, "datasets", "by-id", record.id, "uses")
        uses = workspace._connection.client.call("GET", route)["uses"]
        return [late.Run.get(workspace, run_id) for run_id in dict.fromkeys(use["run_id"] for use in uses)]

    def _annotate(self, changes: Mapping[str, object]) -> dict[str, str]:
        workspace, record = self._registered("tag")
        route = path_of("workspaces", workspace.name, "datasets", "by-id", record.id)
        answer = workspace._connection.client.call("PATCH", route, json=dict(changes))
        self._record = codec.decode(domain.Dataset, answer)
        return self.tags

    def _registered(self, deed: str) -> "tuple[Workspace, domain.Dataset]":
        if self._record is None or self._workspace is None:
            raise InvalidInput(f"To {deed} a dataset it must be registered.", hint="dataset.register(workspace, name)")
        return self._workspace, self._record

    def _require_same(self, workspace: "Workspace") -> None:
        require_workspace(workspace)
        if self._workspace is None or self._workspace.name == workspace.name:
            return
        if any(source.datastore for source in self._definition.sources):
            here, there = self._workspace.name, workspace.name
            raise InvalidInput(f"The dataset is of datastores of workspace {here!r}, and cannot be of {there!r}.")

    # ---- steps

    def _with(self: D, **step: object) -> D:
        steps = (*self._definition.steps, step)
        return type(self)._of(replace(self._definition, steps=steps), self._workspace)

    def take(self: D, count: int) -> D:
        """The first `count` files or rows."""
        return self._with(op="take", count=_count(count))

    def skip(self: D, count: int) -> D:
        """All but the first `count` files or rows."""
        return self._with(op="skip", count=_count(count))

    def random_split(self: D, percentage: float, seed: int | None = None) -> tuple[D, D]:
        """Two disjoint datasets that together are this one; `percentage` (0 to 1) goes to the first."""
        if not isinstance(percentage, int | float) or not 0 <= percentage <= 1:
            raise InvalidInput(f"percentage must be from 0 to 1, got {percentage!r}.")
        step = {"op": "split", "percentage": float(percentage), "seed": _seed(seed)}
        return self._with(**step, part=0), self._with(**step, part=1)

    def filter(self: D, expression: object) -> D:
        """The files or rows for which an expression is true."""
        return self._with(op="filter", expression=written(expression))

    # ---- into runs

    def as_named_input(self, name: str) -> "DatasetConsumptionConfig":
        """This dataset as a named input of a run: `run.input_datasets[name]`."""
        return late.DatasetConsumptionConfig(name, self)

    def _files(self) -> list[Item]:
        return dataset_files.listing(self)

    def __repr__(self) -> str:
        facts: dict[str, object] = {"source": [_said(source) for source in self._definition.sources[:5]]}
        if self._record is not None:
            facts |= {"id": self.id, "name": self.name, "version": self.version}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in facts.items())})"


class FileDataset(AbstractDataset):
    """Files in any place: `Dataset.File.from_files`."""

    @property
    def file_metadata(self) -> Columns:
        """The properties to filter files by: `files.filter(files.file_metadata['Size'] < 1000)`. Size, LastModifiedTime,
        CreationTime, Extension, CanSeek, and the names of the partition format."""
        return Columns()

    def to_path(self) -> list[str]:
        """The path of each file in the dataset's folder, after a slash."""
        return [f"/{item.name}" for item in self._files()]

    def download(
        self, target_path: str | None = None, overwrite: bool = False, ignore_not_found: bool = False
    ) -> list[str]:
        """Downloads the files into a folder, by default a new temporary one; returns their paths."""
        root = Path(os.path.abspath(os.path.expanduser(target_path or tempfile.mkdtemp(prefix="roost-data-"))))
        return [str(path) for path in dataset_files.download(self, root, overwrite, ignore_not_found)]

    def mount(self, mount_point: str | None = None, **kwargs: object) -> "Mount":  # noqa: ARG002 - the SDK's signature
        """The files as a folder: `with files.mount() as place: os.listdir(place.mount_point)`."""
        return dataset_files.mounted(self, mount_point)

    def as_mount(self, path_on_compute: str | None = None) -> "DatasetConsumptionConfig":
        """An input of a run: the files are visible, and their bytes are downloaded on read."""
        return late.DatasetConsumptionConfig(None, self, "mount", path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> "DatasetConsumptionConfig":
        """An input of a run: all files are on the node's disk before it begins."""
        return late.DatasetConsumptionConfig(None, self, "download", path_on_compute)

    def as_hdfs(self) -> NoReturn:
        absent.refuse("azureml.data.FileDataset.as_hdfs")

    def as_cache(self, datacache_store: object) -> NoReturn:  # noqa: ARG002 - the SDK's signature
        raise InvalidInput("Nodes keep what they fetched anyway.", hint="Use as_mount() or as_download().")


def _said(source: domain.Source) -> str:
    return domain.masked(source.url) if source.url else f"{source.datastore}/{source.path}"


def _description(description: object) -> str | None:
    if description is not None and not isinstance(description, str):
        raise InvalidInput(f"description must be text, got {type(description).__name__} {str(description)[:80]!r}.")
    return description


def _tags(tags: Mapping[str, str] | None) -> dict[str, str]:
    if tags is not None and not isinstance(tags, Mapping):
        raise InvalidInput(f"tags must be a dict, got {type(tags).__name__}.", hint="tags={'year': '2020'}")
    return {str(key): str(value) for key, value in (tags or {}).items()}


def _count(count: object) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidInput(f"count must be a whole number from 0 on, got {count!r}.")
    return count


def _seed(seed: int | None) -> int:
    """The given seed, or a random one chosen now: both parts of a split, and every read, use the same."""
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise InvalidInput(f"seed must be a whole number, got {seed!r}.")
    return random.randrange(2**31) if seed is None else seed  # noqa: S311 - a sample, not a secret
