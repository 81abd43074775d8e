"""The place of a node (Place), a process to start (Process), and the simplest launch: one process on each node."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.runs import RunSpec


@dataclass(frozen=True, kw_only=True)
class Place:
    """This node among the run's nodes; known only once the run has its nodes."""

    node_rank: int = 0
    addresses: tuple[str, ...] = ("127.0.0.1",)
    """One per node, by rank."""
    nodes: tuple[str, ...] = ("",)
    """The nodes' own names, by rank: hostnames that are unique in the run."""
    ports: tuple[tuple[int, ...], ...] = ((),)
    """Ports that were free on each node a moment ago, by rank: one for each of its processes and one more."""
    shared: str = ""
    """The path of a folder that all nodes of the run see, without files at the start; "" when they share none."""


@dataclass(frozen=True, kw_only=True)
class Process:
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that this launch adds to the run's own."""
    rank: int = 0
    """Among all processes of the run."""
    waited_for: bool = True
    """True when the run waits for this process. Others (parameter servers) are ended once all of these have ended."""
    expands: bool = True
    """True when the agent expands `$VAR` in its arguments; a shell does that itself, by its own rules."""


class Launch(Protocol):
    def __call__(self, spec: RunSpec, place: Place) -> tuple[Process, ...]:
        """The processes of this node, in rank order. `$VAR` in arguments is expanded later, on the node, with its variables."""


def argv_of(spec: RunSpec) -> tuple[str, ...]:
    """The script with the run's interpreter, the unchanged command, or a shell with the user's text."""
    if spec.shell:
        return ("bash", "-c", *spec.command)
    return spec.command if spec.command else (spec.interpreter, "-u", spec.script, *spec.arguments)


def on_one_machine(place: Place) -> bool:
    """True when the nodes are logical nodes of one machine, each with its own loopback address."""
    try:
        return all(ipaddress.ip_address(address).is_loopback for address in place.addresses)
    except ValueError:  # a host name
        return False


def single(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    """One process on each node."""
    return (Process(argv=argv_of(spec), rank=place.node_rank, expands=not spec.shell),)
