"""Leases: which work is due, and which control loop holds it. How loops use them: docs/how-it-works/loops.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.errors import Conflict

NEW_RUNS = "new_runs"
"""Submitted runs that are not queued yet, by id."""
RUNS = "runs"
"""Runs that are being prepared or hold a node, by id."""
ENDPOINTS = "endpoints"
"""All endpoints, by `Endpoint.id`."""


class LeaseLost(Conflict):
    """The holder's result was not written: another loop has taken the work, or the work no longer exists."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Work that one control loop holds until `until`. A write that is guarded by the lease raises LeaseLost once the lease is
    lost: another loop has taken the work, or the work no longer exists. An expired lease is not lost until then."""

    noun: str
    key: str
    token: str
    until: float


class Leases(Protocol):
    """Work of control loops, by (noun, key). The rows of runs and endpoints are added and removed with them, in the same
    transaction: a run that waits only for a person, or has ended, has no row."""

    def add(self, noun: str, key: str, *, due: float = 0.0) -> None:
        """Adds work for a loop, due at `due`. Does nothing when the work exists already."""

    def take(self, noun: str, *, at: float, seconds: float, limit: int) -> Sequence[Lease]:
        """Takes due work that no loop holds, until `at + seconds`. Touched or added work comes first, then the longest due;
        among equals, the first added."""

    def renew(self, leases: Sequence[Lease], *, until: float) -> Sequence[Lease]:
        """Extends leases for long work; returns the lost ones."""

    def release(self, lease: Lease, *, due: float) -> None:
        """Returns the work; it is due again at `due`, or at once if it was touched meanwhile. Does nothing when the lease is
        lost."""

    def drop(self, lease: Lease) -> None:
        """Removes the work. Does nothing when the lease is lost."""

    def touch(self, noun: str, key: str) -> None:
        """Makes the work due at once; when it is held, as soon as it is released. Does nothing when there is no such work."""

    def inherit(self) -> None:
        """Ends every lease and makes its work due at once; call it when the holders are certainly gone."""
