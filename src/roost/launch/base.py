"""Where a process runs (Place), what it is (Process), and the plainest launch: one process on one node."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.runs import RunSpec


@dataclass(frozen=True, kw_only=True)
class Place:
    """This node among the run's nodes; known only once the nodes are given."""

    node_rank: int = 0
    addresses: tuple[str, ...] = ("127.0.0.1",)
    """One per node, by rank."""
    nodes: tuple[str, ...] = ("",)
    """The nodes' own names, by rank: each is a hostname that no other node of the run has."""
    ports: tuple[tuple[int, ...], ...] = ((),)
    """Ports that were free on each node a moment ago, by rank: one for each of its processes and one beside."""
    shared: str = ""
    """A folder that all nodes of the run see, empty at its start; empty where they share none."""


@dataclass(frozen=True, kw_only=True)
class Process:
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """What this launch adds to the run's own variables."""
    rank: int = 0
    """Among all processes of the run."""
    waited_for: bool = True
    """Whether the run goes on for it. One that is not (a parameter server) is ended when all others have ended."""
    expands: bool = True
    """Whether `$VAR` in its words is filled in for it; a shell does that itself, by its own rules."""


class Launch(Protocol):
    def __call__(self, spec: RunSpec, place: Place) -> tuple[Process, ...]:
        """The processes of this node, in rank order. `$VAR` in arguments is expanded later, on the node, with its variables."""


def argv_of(spec: RunSpec) -> tuple[str, ...]:
    """The script with the run's interpreter, the command as it stands, or a shell with the user's text."""
    if spec.shell:
        return ("bash", "-c", *spec.command)
    return spec.command if spec.command else (spec.interpreter, "-u", spec.script, *spec.arguments)


def on_one_machine(place: Place) -> bool:
    """Whether the nodes are logical ones of one machine, each with a loopback address of its own."""
    try:
        return all(ipaddress.ip_address(address).is_loopback for address in place.addresses)
    except ValueError:  # a name of some network
        return False


def single(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    """One process on each node."""
    return (Process(argv=argv_of(spec), rank=place.node_rank, expands=not spec.shell),)
