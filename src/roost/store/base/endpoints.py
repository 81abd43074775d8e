"""Endpoints and their replicas. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.endpoints import Endpoint, EndpointSpec, Replica


@dataclass(frozen=True, kw_only=True)
class Standing:
    """An endpoint with all that its loop has to know."""

    endpoint: Endpoint
    good: EndpointSpec | None
    """What it was when it last stood as it should: what serves while a change is under way. None for one that never did."""
    generations: int
    """The last that was given to a version."""
    asked: int
    """Counts what people asked for: whoever worked on something older has worked in vain."""
    deleting: bool
    sealed: bytes
    """Its keys."""


@dataclass(frozen=True, kw_only=True)
class EndpointLease:
    """As `Lease`, of an endpoint."""

    standing: Standing
    token: str


class Endpoints(Protocol):
    """By (workspace, name). One that is being deleted is there for its loop alone; its name and port are taken until then."""

    def create(self, endpoint: Endpoint, sealed: bytes, *, generations: int) -> Endpoint:
        """EndpointConflict when there is one of that name, or with that port."""

    def get(self, workspace: str, name: str) -> Endpoint: ...
    def standing(self, workspace: str, name: str) -> Standing:
        """Also of one that is being deleted."""

    def list(self, workspace: str | None = None) -> Sequence[Endpoint]:
        """By name; of all workspaces when none is given."""

    def ports(self) -> frozenset[int]:
        """Those that are taken."""

    def using(self, workspace: str, model_id: str) -> Sequence[str]:
        """Names of the endpoints that have the model, in what they should be or in what serves; those being deleted too."""

    def ask(self, workspace: str, name: str, spec: EndpointSpec, *, seen: int, generations: int, at: float) -> Endpoint:
        """It should be like this from now on. EndpointConflict when somebody asked for something since `seen`."""

    def annotate(self, workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        """Other keys, made from those that there are; nobody else changes them meanwhile."""

    def retire(self, workspace: str, name: str, *, at: float) -> None:
        """It is to be deleted."""

    def touch(self, workspace: str, name: str) -> None:
        """Makes it due at once."""

    def lease(self, *, at: float, seconds: float, limit: int) -> Sequence[EndpointLease]: ...
    def renew(self, lease: EndpointLease, *, until: float) -> bool: ...
    def release(self, lease: EndpointLease, *, due_at: float) -> None:
        """As of runs; one that became due while it was held is due at once."""

    def inherit(self) -> None:
        """Ends every lease; all are due at once."""

    def settle(self, lease: EndpointLease, after: Standing) -> bool:
        """Writes what came of the work: spec, good, state, error, port. False, and nothing is changed, when the lease was lost or
        somebody asked for something else meanwhile."""

    def remove(self, lease: EndpointLease) -> bool:
        """One that is being deleted is gone, and its replicas' rows with it; the runs stay."""

    def replicas(self, workspace: str, name: str) -> Sequence[Replica]:
        """Oldest first; those that have ended too, until they are forgotten."""

    def add_replica(self, workspace: str, name: str, replica: Replica) -> None: ...
    def dismiss(self, run_ids: Sequence[str]) -> None:
        """They are leaving."""

    def forget(self, run_ids: Sequence[str]) -> None: ...
    def any_sealed(self) -> bool:
        """Whether there is any."""
