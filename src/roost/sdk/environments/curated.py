"""Curated environments in the SDK: the environment for a name, adapted to this machine when the nodes are on it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from roost.environments.curated import catalogue, machine, naming
from roost.environments.curated.resolving import VERSION, Curated, resolve
from roost.sdk import late
from roost.sdk.connection.connections import named_url
from roost.sdk.environments.conda_dependencies import CondaDependencies

if TYPE_CHECKING:
    from roost.sdk.environments.environments import Environment

is_curated = naming.is_curated
names = catalogue.names


def find(name: str) -> Curated:
    """The entry for a name; NotFound with a hint. For a control plane elsewhere, whose nodes are unknown here, the catalogue
    decides alone; otherwise also this machine's Pythons, GPU and compiler."""
    return resolve(name, None if named_url() else machine.here())


def get(name: str, version: str | None = None) -> "Environment":
    """The environment; one of another version than the catalogue's is returned too, with a note."""
    found = find(name)
    made = late.Environment(name.partition("@")[0].partition(":")[0])
    made.version = VERSION
    pip = ["azureml-defaults", *found.requirements]
    made.python.conda_dependencies = CondaDependencies(
        _underlying_structure={
            "channels": ["conda-forge"],
            "dependencies": [f"python={found.python}", {"pip": pip}],
        }
    )
    made._notes = found.notes
    if version not in (None, VERSION, "latest"):
        made._notes = (
            *made._notes,
            f"Azure's version {version} of it is not kept: this is version {VERSION} of Roost's.",
        )
    return made


def listing() -> "Iterator[Environment]":
    """Every listed name; others are found by pattern."""
    return (get(name) for name in catalogue.names())


class Environments(dict[str, "Environment"]):
    """Environments by name. A curated name that is not listed is found by its pattern."""

    def __missing__(self, name: str) -> "Environment":
        if not isinstance(name, str) or not is_curated(name):
            raise KeyError(name)
        return get(name)
