"""Inputs of runs: a `DatasetConsumptionConfig` in `arguments`, in `run_config.data` or in a command becomes an input of the
run, and its path on each node. Outputs are in `data_outputs.py`, the older form in `data_references.py`.
"""

import re
import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, NoReturn

from roost.domain import names
from roost.domain.datasets import VARIABLE, DatasetKind, Input, Mode, token
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.core import absent

if TYPE_CHECKING:
    from roost.sdk.data.data_outputs import OutputFileDatasetConfig
    from roost.sdk.data.data_references import DataReference
    from roost.sdk.data.datasets import AbstractDataset

_MODES = (Mode.DIRECT, Mode.MOUNT, Mode.DOWNLOAD)
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,254}", re.ASCII)
_SAID_AT_MOST = 1000

_STANDS = re.compile(rf"{token('')}\w+|\$\{{?{VARIABLE}\w+", re.ASCII)

_said: "OrderedDict[str, DatasetConsumptionConfig | OutputFileDatasetConfig | DataReference]" = OrderedDict()
"""Objects that were formatted into a text, by their token: a command of one text contains only the token."""


class DatasetConsumptionConfig:
    """A dataset as an input of a run. `mode`: mount, download, or direct, which gives the script the dataset itself."""

    def __init__(
        self,
        name: str | None,
        dataset: "AbstractDataset | tuple[object, ...]",
        mode: str = "direct",
        path_on_compute: str | None = None,
    ) -> None:
        if mode not in [each.value for each in _MODES]:
            choices = ", ".join(each.value for each in _MODES)
            raise InvalidInput(f"mode must be one of {choices}, got {mode!r}.")
        self.name = new_name("input_") if name is None else checked_input(name)
        self.dataset = _dataset(dataset)
        if mode != Mode.DIRECT and self.dataset._definition.kind is DatasetKind.TABULAR:
            raise InvalidInput(
                f"{type(self.dataset).__name__} does not support {mode}. Only FileDataset supports {mode}.",
                hint="table.as_named_input('name') gives the script the table; table.to_csv_files() is files, made of it now.",
            )
        self.mode = mode
        self.path_on_compute = checked_place(path_on_compute)

    def as_mount(self, path_on_compute: str | None = None) -> "DatasetConsumptionConfig":
        """The files are visible when the script begins, and their bytes are downloaded on read."""
        return DatasetConsumptionConfig(self.name, self.dataset, "mount", path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> "DatasetConsumptionConfig":
        """All files are on the node's disk before the script begins; they belong to the run."""
        return DatasetConsumptionConfig(self.name, self.dataset, "download", path_on_compute)

    def as_hdfs(self) -> NoReturn:
        absent.refuse("azureml.data.FileDataset.as_hdfs")

    def _carried(self) -> Input:
        """The record for a run."""
        return Input(
            name=self.name,
            definition=self.dataset._definition,
            mode=Mode(self.mode),
            path_on_compute=self.path_on_compute or "",
            dataset_id=self.dataset.id or "",
        )

    def __str__(self) -> str:
        return put_into_text(self, token(self.name))

    def __repr__(self) -> str:
        return f"DatasetConsumptionConfig(name={self.name!r}, dataset={self.dataset!r}, mode={self.mode!r})"


def new_name(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(4)}"


def checked_input(name: object) -> str:
    """Checks a name, which must also be valid as a variable."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} cannot name an input or output of a run: it is a variable of the run too.",
            hint="Use letters, digits and `_`, the first no digit.",
        )
    return name


def checked_place(path: object) -> str | None:
    """Checks the path of an input on the node."""
    if path is None or path == "":
        return None
    if not isinstance(path, str) or "\0" in path or not path.strip("/"):
        raise InvalidInput(f"path_on_compute must be the path of a folder, got {path!r}.")
    if not path.startswith("/"):
        names.path(path)
    return path


def put_into_text(config: "DatasetConsumptionConfig | OutputFileDatasetConfig | DataReference", stands: str) -> str:
    """The token of an object in a text: `f"train.py --data {dataset.as_mount()}"`."""
    _said[stands] = config
    _said.move_to_end(stands)
    if len(_said) > _SAID_AT_MOST:
        _said.popitem(last=False)
    return stands


def found_in_text(text: str) -> "list[DatasetConsumptionConfig | OutputFileDatasetConfig | DataReference]":
    """The objects whose tokens occur in a text."""
    stands = [each.replace("{", "") for each in _STANDS.findall(text)]
    return [_said[each] for each in stands if each in _said]


def _dataset(given: object) -> "AbstractDataset":
    if isinstance(given, tuple) and len(given) in (2, 3):
        return late.Dataset.get_by_name(given[0], given[1], *given[2:])
    if not isinstance(given, late.AbstractDataset):
        raise InvalidInput(
            f"dataset must be a dataset, got {type(given).__name__}.", hint="dataset.as_named_input('training')"
        )
    return given
