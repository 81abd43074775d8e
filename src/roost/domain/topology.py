"""The processes of one run on its nodes: the request of a distributed configuration, without addresses. Pure.

Addresses exist once the nodes are given: then `launch` makes processes of a Topology and a Place.
"""

from dataclasses import dataclass
from enum import StrEnum

from roost.domain.errors import InvalidInput

MAX_RUN_NODES = 1000
MAX_PROCESSES = 1024
"""On one node."""


class LaunchKind(StrEnum):
    """The values of `RunSpec.launch`."""

    SINGLE = "single"
    """The script or command, once on each node."""
    MPI = "mpi"
    """`mpirun` on the first node starts ranks on all of them."""
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    SERVE = "serve"
    """The worker of an endpoint's replica, restarted whenever it ends."""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The processes of a run; the RunSpec has the number of nodes."""

    processes_per_node: int = 1
    """Of MPI and PyTorch: ranks on each node."""
    backend: str = ""
    """Of PyTorch: `nccl`, `gloo` or `mpi`; empty for the script's own choice."""
    workers: int = 0
    parameter_servers: int = 0
    """Of TensorFlow: its tasks, distributed over the nodes in turn; they end with the workers."""
    chief: bool = False
    """Of TensorFlow: True when the first worker is a task of type `chief`, as strategies with parameter servers require."""


def check(launch: str, node_count: int, topology: Topology) -> None:
    """Raises InvalidInput with the broken rule and the value."""
    if launch not in set(LaunchKind):
        known = ", ".join(sorted(LaunchKind))
        raise InvalidInput(f"No launch named {launch!r}.", hint=f"The launches here are: {known}.")
    if not 1 <= node_count <= MAX_RUN_NODES:
        raise InvalidInput(f"A run has 1 to {MAX_RUN_NODES} nodes, got {node_count}.")
    if not 1 <= topology.processes_per_node <= MAX_PROCESSES:
        raise InvalidInput(f"A node has 1 to {MAX_PROCESSES} processes, got {topology.processes_per_node}.")
    if launch == LaunchKind.TENSORFLOW and (topology.workers < 1 or topology.parameter_servers < 0):
        raise InvalidInput(
            f"A TensorFlow run has at least one worker and 0 or more parameter servers, got {topology.workers} and "
            f"{topology.parameter_servers}."
        )
    if launch == LaunchKind.TENSORFLOW and topology.workers + topology.parameter_servers > node_count * MAX_PROCESSES:
        raise InvalidInput(f"{topology.workers} workers are too many for {node_count} nodes.")
    if launch in (LaunchKind.SINGLE, LaunchKind.SERVE) and topology != Topology():
        raise InvalidInput("A run that is launched singly has one process on each node, and no workers.")


def by_rank(launch: str, node_count: int, topology: Topology) -> bool:
    """True when the run may have several processes, each with its own log."""
    if launch == LaunchKind.TENSORFLOW:
        return node_count > 1 or topology.workers + topology.parameter_servers > 1
    return node_count > 1 or topology.processes_per_node > 1 or launch == LaunchKind.MPI


def ranks_on(launch: str, node_count: int, topology: Topology, node_rank: int) -> str:
    """The processes of a node in words: `2-3`, `0, 2`; empty for none."""
    if launch == LaunchKind.TENSORFLOW:
        own = range(node_rank, topology.workers + topology.parameter_servers, node_count)
        return ", ".join(map(str, own))
    first = node_rank * topology.processes_per_node
    last = first + topology.processes_per_node - 1
    return f"{first}-{last}" if last > first else str(first)


def ports_on_a_node(launch: str, node_count: int, topology: Topology) -> int:
    """The number of free ports that each node's agent looks for: one for each of its processes, and one more."""
    tasks = topology.workers + topology.parameter_servers
    return 1 + max(topology.processes_per_node, -(-tasks // node_count) if launch == LaunchKind.TENSORFLOW else 0)
