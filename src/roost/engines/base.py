"""The interface of an engine: start, status, stop, and its abilities. The agent does the rest on a node; one file per engine."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from roost.domain.compute import Machine
from roost.domain.plans import Access, Plan


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What an engine can do. Wiring, control loops and services decide by these fields, never by an engine's name.

    An engine gives nodes to runs in exactly one way: it `queues`, it has `hosts`, or it has `logical_nodes`.
    """

    queues: bool = False
    """It has its own queue and gets every run at once; `status` returns Waiting while the agent is in the queue."""
    hosts: tuple[str, ...] = ()
    """Addresses of its machines. A node of a cluster is one of them, and a machine is one node at a time."""
    logical_nodes: bool = False
    """The control plane makes nodes on demand. They share one machine, and each has its own loopback address."""
    shared_disk: bool = False
    """Agents read and write the control plane's files by path, and nodes of one run share `./outputs`, else each has its own."""
    capacity: Machine | None = None
    """The machine that all its nodes share, so that the control plane can divide it; None when each node has its own."""

    def __post_init__(self) -> None:
        ways = (self.queues, bool(self.hosts), self.logical_nodes)
        if sum(ways) != 1:
            raise ValueError(
                f"An engine gives nodes in one way: it queues, has hosts or has logical nodes; got {self}."
            )


class AgentState(StrEnum):
    ALIVE = "alive"
    GONE = "gone"
    """No process of this agent is left, keeper included, and none will start."""
    UNKNOWN = "unknown"
    """The engine cannot find out now, since its own service is away: call again later."""


@dataclass(frozen=True)
class Waiting:
    """The agent waits in the engine's queue. Returned only by an engine that queues."""

    why: str
    """Text for users, with the queue's own words: `Slurm: PENDING (Resources)`."""


class Engine(Protocol):
    """**Threads**: any method from any thread. **Restart**: handles outlive the control plane; a new engine object accepts the
    handles of an earlier one."""

    def start(self, plan: Plan, access: Access) -> str:
        """Starts the agent of this plan, or puts it into the engine's queue, and returns its handle. When it raises RoostError,
        nothing was started. A second start raises Conflict while the agent lives; while the agent waits in the engine's queue, it
        returns the same handle."""

    def status(self, handle: str) -> AgentState | Waiting:
        """The agent's current state."""

    def stop(self, handle: str) -> None:
        """Ends the agent and all its processes, politely first; or removes it from the queue. Returns at once; safe twice."""

    def close(self) -> None:
        """Called when the control plane ends; agents stay, in the queue too."""
