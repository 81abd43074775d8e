"""Secrets of workspaces. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.secrets import Secret


class Secrets(Protocol):
    """Sealed values by workspace and name; the store cannot read them."""

    def put(self, workspace: str, sealed: Mapping[str, bytes], *, user: str, at: float) -> None:
        """Adds or replaces; the time of creation stays."""

    def get(self, workspace: str, names: Sequence[str]) -> Mapping[str, bytes]:
        """Those of the names that exist."""

    def list(self, workspace: str) -> Sequence[Secret]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """True when it existed."""

    def any_sealed(self) -> bool:
        """True when any workspace has a secret."""
