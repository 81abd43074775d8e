"""The promise of an engine: three verbs. What happens on a node is the agent's; a new engine is one file."""

from enum import StrEnum
from typing import Protocol

from roost.domain.plans import Access, Plan


class AgentState(StrEnum):
    ALIVE = "alive"
    GONE = "gone"
    """No process of this agent is left, keeper included."""
    UNKNOWN = "unknown"
    """The engine cannot tell now (its own service is away): ask again later."""


class Engine(Protocol):
    """**Threads**: any method from any thread. **Restart**: handles outlive the control plane; a new engine object
    understands the handles of the one before."""

    def start(self, plan: Plan, access: Access) -> str:
        """Starts the agent of this plan and returns its handle. Raises RoostError when it cannot, having started nothing.
        Started twice for one run, the second start is refused by the node (the run's folder is locked)."""

    def status(self, handle: str) -> AgentState:
        """Whether the agent is there."""

    def stop(self, handle: str) -> None:
        """Ends the agent and all its processes, politely first. Returns at once; safe to call twice."""

    def close(self) -> None:
        """The control plane goes; agents stay."""
