"""Leases: which work is due, and which control loop holds it. How loops use them: docs/how-it-works/loops.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.errors import Conflict

NEW_RUNS = "new_runs"
"""Submitted runs that have not been queued yet, by id."""
RUNS = "runs"
"""Runs that are being prepared or hold a node, by id."""
ENDPOINTS = "endpoints"
"""All endpoints, by `Endpoint.id`."""


class LeaseLost(Conflict):
    """What its holder found out is not written: another loop looks after it, or none has to any more."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Work that one control loop holds until `until`. A write that is guarded by the lease raises LeaseLost once the lease is
    lost: another loop has taken the work, or no loop looks after it any more. A lease that ran out is not lost until then."""

    noun: str
    key: str
    token: str
    until: float


class Leases(Protocol):
    """Work of control loops, by (noun, key). The rows of runs and endpoints come and go with these, in the same transaction: what
    waits for nothing but a person, or has ended, has no row."""

    def add(self, noun: str, key: str, *, due: float = 0.0) -> None:
        """A loop looks after it from `due` on. Nothing happens when one does already."""

    def take(self, noun: str, *, at: float, seconds: float, limit: int) -> Sequence[Lease]:
        """Work that is due and that nobody holds, held until `at + seconds`. What was touched or added comes first, then what is
        due for the longest time; of equals the one that was added first."""

    def renew(self, leases: Sequence[Lease], *, until: float) -> Sequence[Lease]:
        """Holds them longer, for work that takes its time; returns those that are lost."""

    def release(self, lease: Lease, *, due: float) -> None:
        """Gives it back; it is due again then, or at once if it was touched meanwhile. Nothing happens when it is lost."""

    def drop(self, lease: Lease) -> None:
        """No loop looks after it any more. Nothing happens when it is lost."""

    def touch(self, noun: str, key: str) -> None:
        """Makes it due at once: when it is held, as soon as it is released. Nothing happens when no loop looks after it."""

    def inherit(self) -> None:
        """Ends every lease, and makes that work due at once: its holders are known to be gone."""
