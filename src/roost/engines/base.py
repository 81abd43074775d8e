"""The promise of an engine: three verbs and its abilities. What happens on a node is the agent's; a new engine is one file."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from roost.domain.compute import Machine
from roost.domain.plans import Access, Plan


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What an engine can do. Wiring, control loops and services decide by these words, never by an engine's name.

    An engine gives nodes to runs in exactly one way: it `queues`, it has `hosts`, or it has `logical_nodes`.
    """

    queues: bool = False
    """It has a queue of its own. It is given every run at once; `status` returns Waiting while the queue holds the agent back."""
    hosts: tuple[str, ...] = ()
    """Addresses of its machines. A node of a cluster is one of them, and a machine is one node at a time."""
    logical_nodes: bool = False
    """The control plane makes nodes on demand. They share one machine, and each has a loopback address of its own."""
    shared_disk: bool = False
    """Agents read and write the control plane's files by path. Nodes of one run share `./outputs`; else each has its own."""
    capacity: Machine | None = None
    """What all its nodes share, so that the control plane can divide it; None where each node has its own."""

    def __post_init__(self) -> None:
        ways = (self.queues, bool(self.hosts), self.logical_nodes)
        if sum(ways) != 1:
            raise ValueError(
                f"An engine gives nodes in one way: it queues, has hosts or has logical nodes; got {self}."
            )


class AgentState(StrEnum):
    ALIVE = "alive"
    GONE = "gone"
    """No process of this agent is left, keeper included, and none will come."""
    UNKNOWN = "unknown"
    """The engine cannot tell now (its own service is away): ask again later."""


@dataclass(frozen=True)
class Waiting:
    """The queue of the engine holds the agent back. Returned only by an engine that queues."""

    why: str
    """Words for people, with the queue's own: `Slurm: PENDING (Resources)`."""


class Engine(Protocol):
    """**Threads**: any method from any thread. **Restart**: handles outlive the control plane; a new engine object
    understands the handles of the one before."""

    def start(self, plan: Plan, access: Access) -> str:
        """Starts the agent of this plan, or puts it into the engine's queue, and returns its handle. Raises RoostError when it
        cannot, having started nothing. Started twice, the second start is refused with Conflict while the agent is there; while
        it waits in the engine's queue, the same handle is returned."""

    def status(self, handle: str) -> AgentState | Waiting:
        """Whether the agent is there."""

    def stop(self, handle: str) -> None:
        """Ends the agent and all its processes, politely first; takes it out of the engine's queue. Returns at once; safe to
        call twice."""

    def close(self) -> None:
        """The control plane goes; agents stay, and so do those that wait."""
