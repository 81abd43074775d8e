"""The datasets that `--input` of `roost submit` and the commands of `roost data` name."""

from collections.abc import Mapping, Sequence

from roost.domain.datasets import checked_name
from roost.domain.errors import InvalidInput
from roost.sdk.core.workspaces import Workspace
from roost.sdk.data.consumption import checked_input
from roost.sdk.data.dataset_factory import Dataset
from roost.sdk.data.datasets import AbstractDataset


def parse_inputs(given: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    """NAME=DATASET[:VERSION] each: the dataset and version by the input's name."""
    found: dict[str, tuple[str, int | None]] = {}
    for text in given:
        name, equals, dataset = text.partition("=")
        if not equals or not dataset:
            raise InvalidInput(
                f"--input is NAME=DATASET or NAME=DATASET:VERSION, got {text!r}.", hint="--input training=birds:2"
            )
        if checked_input(name) in found:
            raise InvalidInput(f"Two inputs are named {name!r}.", hint="Give each a name of its own.")
        plain, colon, number = dataset.rpartition(":")
        if colon and not number.isdecimal():
            raise InvalidInput(f"{number!r} is not a version of a dataset.", hint=f"--input {name}={plain}:1")
        found[name] = (checked_name(plain if colon else dataset), int(number) if colon else None)
    return found


def run_inputs(ws: Workspace, inputs: Mapping[str, tuple[str, int | None]]) -> dict[str, object]:
    """Inputs of a run: files are mounted, a table is the script's to read."""
    made: dict[str, object] = {}
    for name, (dataset, version) in inputs.items():
        found = find_dataset(ws, dataset, version).as_named_input(name)
        made[name] = found.as_mount() if found.dataset._definition.kind.value == "file" else found
    return made


def find_dataset(ws: Workspace, name: str, version: int | None) -> AbstractDataset:
    plain, colon, number = name.rpartition(":")
    if colon and number.isdecimal():
        raise InvalidInput(
            f"Dataset name {name!r} is not allowed.", hint=f"Its version is apart: {plain} --version {number}"
        )
    return Dataset.get_by_name(ws, name, "latest" if version is None else version)
