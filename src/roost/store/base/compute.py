"""Compute targets, and the nodes of clusters. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from roost.domain.compute import Adjustment, Compute, Node
from roost.domain.runs import Run, RunEvent

MANY = 10**9
"""More than there ever are."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """A cluster's nodes and what is asked of them."""

    nodes: tuple[Node, ...]
    held: frozenset[str]
    """Runs of those nodes that still hold theirs."""
    waiting: int
    """Runs that are queued for it."""
    asked: int
    """Nodes that those ask for, each no more than the cluster can have."""


class Computes(Protocol):
    """Targets are found in their workspace, or among those that every workspace has (whose workspace is empty)."""

    def ensure(self, compute: Compute) -> Compute:
        """Made, or its limit and engine changed."""

    def create(self, compute: Compute) -> tuple[Compute, bool]:
        """The target and whether it is new; ComputeConflict when one of that name has other settings."""

    def get(self, workspace: str, name: str) -> Compute: ...
    def list(self, workspace: str | None = None) -> Sequence[Compute]:
        """Of a workspace, with those that every one has; of all workspaces when none is given."""

    def update(self, compute: Compute) -> Compute:
        """Its settings and `modified_at` as given; nodes stay as they are."""

    def delete(self, workspace: str, name: str) -> None:
        """With its nodes. ComputeConflict while a run on it, or waiting for it, has not ended."""

    def load(self, compute: Compute, *, most: int = MANY) -> Load:
        """`most` is how far those who wait are counted: no cluster needs to know of more than it has nodes."""

    def queue(self, compute: Compute) -> tuple[Sequence[str], int]:
        """Ids of the runs that wait, in the order in which they get nodes; and how many hold one."""

    def adjust(self, compute: Compute, decide: Callable[[Compute, Load], Adjustment], *, at: float) -> bool:
        """What `decide` says of the cluster as it is now, done; and whether anything changed. Who waits is counted up to its
        limit. New nodes are preparing, with an address that no other node of any cluster has. One that is gone is left alone."""

    def claim(
        self, compute: Compute, *, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
    ) -> tuple[Run, Sequence[Node]] | None:
        """The run whose turn it is, moved by `event`, and the idle nodes that are now its own, all that it asked for; None when
        nobody waits or there are too few: then it keeps its turn, and nobody overtakes it but one of higher priority. A run
        that asks for more than the cluster can have is passed over."""

    def nodes_of(self, run_id: str) -> Sequence[Node]: ...
    def addresses(self) -> Set[str]:
        """Those that a node of any cluster has, or a run that has not ended."""

    def preempt(self, compute: Compute, node_id: str, *, at: float) -> Node:
        """The node is taken away: it goes as soon as its run has left it. NotFound when there is no such node."""
