"""Compute targets, and the nodes of clusters. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from roost.domain.compute import Adjustment, Compute, Node
from roost.domain.runs import Run, RunEvent

MANY = 10**9
"""A number above any real count."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """A cluster's nodes, and the demand for them."""

    nodes: tuple[Node, ...]
    held: frozenset[str]
    """Runs that still hold one of those nodes."""
    waiting: int
    """Runs that are queued for it."""
    asked: int
    """Nodes that the queued runs request, each at most as many as the cluster can have."""


class Computes(Protocol):
    """Targets belong to a workspace, or to every workspace (then their workspace is empty)."""

    def ensure(self, compute: Compute) -> Compute:
        """Creates it, or updates its limit and engine."""

    def create(self, compute: Compute) -> tuple[Compute, bool]:
        """Returns the target, and True when it is new; raises ComputeConflict when the name exists with other settings."""

    def get(self, workspace: str, name: str) -> Compute: ...
    def list(self, workspace: str | None = None) -> Sequence[Compute]:
        """The targets of a workspace, including those of every workspace; of all workspaces when None."""

    def update(self, compute: Compute) -> Compute:
        """Sets its settings and `modified_at`; its nodes stay unchanged."""

    def delete(self, workspace: str, name: str) -> None:
        """Deletes it with its nodes. Raises ComputeConflict while a run on it, or waiting for it, has not ended."""

    def load(self, compute: Compute, *, most: int = MANY) -> Load:
        """Counts at most `most` waiting runs: a cluster never needs a higher count than its nodes."""

    def queue(self, compute: Compute) -> tuple[Sequence[str], int]:
        """Ids of the waiting runs, in the order in which they get nodes; and the number of runs that hold one."""

    def adjust(self, compute: Compute, decide: Callable[[Compute, Load], Adjustment], *, at: float) -> bool:
        """Applies the adjustment that `decide` returns for the cluster's current state; True when anything changed. Waiting
        runs are counted up to its limit. New nodes are preparing, with an address that no other node of any cluster has. Does
        nothing for a deleted cluster."""

    def claim(
        self, compute: Compute, *, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
    ) -> tuple[Run, Sequence[Node]] | None:
        """Takes the next run in turn, moved by `event`, with all idle nodes that it requested; None when no run waits or
        there are too few nodes. It then keeps its turn, and only a run of higher priority may overtake it. A run that
        requests more nodes than the cluster can have is skipped."""

    def nodes_of(self, run_id: str) -> Sequence[Node]: ...
    def addresses(self) -> Set[str]:
        """The addresses of all clusters' nodes, and of runs that have not ended."""

    def preempt(self, compute: Compute, node_id: str, *, at: float) -> Node:
        """Marks the node for removal: it is removed when its run has left it. Raises NotFound when there is no such node."""
