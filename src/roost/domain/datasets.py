"""A dataset: where data is and what is done to it when it is read, by reference. Registered by name and version. Pure.

`Definition` is all of it; it is stored with the dataset and travels in a run's inputs, so that a run reads what it was submitted
with whatever is registered later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class DatasetKind(StrEnum):
    FILE = "file"
    TABULAR = "tabular"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files of a datastore by pattern, or one address."""

    datastore: str = ""
    path: str = ""
    """In that datastore: a file, a folder, or a pattern with `*` and `**`."""
    url: str = ""
    """Instead: an address that the reader itself fetches. Never with a credential in it."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    kind: DatasetKind = DatasetKind.FILE
    sources: tuple[Source, ...] = ()
    format: Mapping[str, Any] = field(default_factory=dict)
    """Of a table: `type` (delimited, parquet, json_lines) and how it is read."""
    partition_format: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    """What is done when it is read, in order; each has an `op` and its arguments."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A registered one; each version stays as it is, but for its tags and description."""

    id: str
    workspace: str
    name: str
    version: int
    definition: Definition
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    created_at: float = 0.0


class Mode(StrEnum):
    MOUNT = "mount"
    DOWNLOAD = "download"
    DIRECT = "direct"
    """No files: the script asks for the data itself."""
    UPLOAD = "upload"
    """Of an output."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """A dataset as a run consumes it. In the run's arguments stands `token(name)`, which becomes the path on each node."""

    name: str
    """Also the variable that holds its path, and its key in `run.input_datasets`."""
    definition: Definition
    mode: Mode = Mode.MOUNT
    path_on_compute: str = ""
    dataset_id: str = ""
    """Of the registered one; empty when it is not."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """A folder that a run fills and that becomes data: uploaded at its end, registered when that was asked for."""

    name: str
    datastore: str = ""
    """Empty for the workspace's default."""
    path: str = ""
    """In that datastore; `{run-id}` and `{output-name}` are filled in."""
    mode: Mode = Mode.UPLOAD
    overwrite: bool = True
    source: str = ""
    """The folder or pattern in the working copy that is uploaded; empty for a folder that the run is given."""
    register_as: str = ""
    register_tags: Mapping[str, str] = field(default_factory=dict)
    register_description: str = ""
    definition: Definition = field(default_factory=Definition)
    """Steps and format of what is registered; its sources are filled in."""


def token(name: str) -> str:
    """Stands in a run's arguments for the path of an input or output; the agent puts the path there."""
    return f"DatasetConsumptionConfig:{name}"
