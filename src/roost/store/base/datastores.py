"""Places where data is. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from typing import Protocol

from roost.domain.datastores import Datastore


class Datastores(Protocol):
    """Registered ones by (workspace, name), each with its sealed credential; those that every workspace has are not kept here."""

    def put(self, datastore: Datastore, sealed: bytes | None, *, overwrite: bool) -> Datastore:
        """Conflict when there is one of that name and it is not to be replaced."""

    def get(self, workspace: str, name: str) -> Datastore: ...
    def sealed(self, workspace: str, name: str) -> bytes | None:
        """Its credential; None when it has none, or is not there."""

    def list(self, workspace: str) -> Sequence[Datastore]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """Whether it was there. The workspace's default is then the first one again."""

    def default(self, workspace: str) -> str:
        """The name of the default one; empty when nobody chose."""

    def set_default(self, workspace: str, name: str) -> None: ...
    def any_sealed(self) -> bool:
        """Whether any workspace has one with a credential."""
