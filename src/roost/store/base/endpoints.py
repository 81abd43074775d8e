"""Endpoints and their replicas. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.endpoints import Endpoint, EndpointSpec, Replica
from roost.store.base.leases import Lease


@dataclass(frozen=True, kw_only=True)
class Standing:
    """An endpoint with all the data that its loop needs."""

    endpoint: Endpoint
    good: EndpointSpec | None
    """The last spec that was reached: it serves while a change is in progress. None when none was reached yet."""
    generations: int
    """The last generation that was given to a version."""
    asked: int
    """Counts people's requests: work on an older request is discarded."""
    deleting: bool
    sealed: bytes
    """Its sealed keys."""


class Endpoints(Protocol):
    """By (workspace, name). An endpoint that is being deleted is visible to its loop only; its name and port stay taken until
    the end."""

    def create(self, endpoint: Endpoint, sealed: bytes, *, generations: int) -> Endpoint:
        """Raises EndpointConflict when the name or the port is taken."""

    def get(self, workspace: str, name: str) -> Endpoint: ...
    def standing(self, workspace: str, name: str) -> Standing:
        """Also for one that is being deleted."""

    def list(self, workspace: str | None = None) -> Sequence[Endpoint]:
        """By name; of all workspaces when none is given."""

    def ports(self) -> frozenset[int]:
        """The ports in use."""

    def using(self, workspace: str, model_id: str) -> Sequence[str]:
        """Names of the endpoints with this model, in the requested or the serving spec; including those being deleted."""

    def ask(self, workspace: str, name: str, spec: EndpointSpec, *, seen: int, generations: int, at: float) -> Endpoint:
        """Sets the requested spec. Raises EndpointConflict when there was another request since `seen`."""

    def annotate(self, workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        """Replaces its keys by the result of `change`; no other call changes them meanwhile."""

    def retire(self, workspace: str, name: str, *, at: float) -> None:
        """Marks it for deletion."""

    def settle(self, before: Standing, after: Standing, *, lease: Lease) -> bool:
        """Writes the result of the loop's work: spec, good, state, error, port. Returns False and changes nothing when there
        was another request since `before`; raises Conflict when the lease is lost."""

    def remove(self, workspace: str, name: str, *, lease: Lease) -> bool:
        """Removes an endpoint that is being deleted, with its replicas' rows; the runs stay. Returns False for one that is
        not being deleted; raises Conflict when the lease is lost."""

    def replicas(self, workspace: str, name: str) -> Sequence[Replica]:
        """Oldest first; including ended ones, until they are forgotten."""

    def add_replica(self, workspace: str, name: str, replica: Replica) -> None: ...
    def dismiss(self, run_ids: Sequence[str]) -> None:
        """Marks these replicas as leaving."""

    def forget(self, run_ids: Sequence[str]) -> None: ...
    def any_sealed(self) -> bool:
        """True when there is any endpoint."""
