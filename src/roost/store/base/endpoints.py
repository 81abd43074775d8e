"""Endpoints and their replicas. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.endpoints import Endpoint, EndpointSpec, Replica
from roost.store.base.leases import Lease


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

    def settle(self, before: Standing, after: Standing, *, lease: Lease) -> bool:
        """Writes what came of the work: spec, good, state, error, port. False, and nothing is changed, when somebody asked for
        something else since `before`; Conflict when the lease is lost."""

    def remove(self, workspace: str, name: str, *, lease: Lease) -> bool:
        """One that is being deleted is gone, and its replicas' rows with it; the runs stay. False for one that is not being
        deleted; Conflict when the lease is lost."""

    def replicas(self, workspace: str, name: str) -> Sequence[Replica]:
        """Oldest first; those that have ended too, until they are forgotten."""

    def add_replica(self, workspace: str, name: str, replica: Replica) -> None: ...
    def dismiss(self, run_ids: Sequence[str]) -> None:
        """They are leaving."""

    def forget(self, run_ids: Sequence[str]) -> None: ...
    def any_sealed(self) -> bool:
        """Whether there is any."""
