"""Places where data is. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from typing import Protocol

from roost.domain.datastores import Datastore


class Datastores(Protocol):
    """Registered datastores by (workspace, name), each with its sealed credential; without the built-in ones of every
    workspace."""

    def put(self, datastore: Datastore, sealed: bytes | None, *, overwrite: bool) -> Datastore:
        """Raises Conflict when the name exists and `overwrite` is False."""

    def get(self, workspace: str, name: str) -> Datastore: ...
    def sealed(self, workspace: str, name: str) -> bytes | None:
        """Its credential; None when it has none, or does not exist."""

    def list(self, workspace: str) -> Sequence[Datastore]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """True when it existed. The workspace's default is then the first one again."""

    def default(self, workspace: str) -> str:
        """The name of the default datastore; empty when none was chosen."""

    def set_default(self, workspace: str, name: str) -> None: ...
    def any_sealed(self) -> bool:
        """True when any workspace has a datastore with a credential."""
