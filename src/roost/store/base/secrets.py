"""Secrets of workspaces. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.secrets import Secret


class Secrets(Protocol):
    """Sealed values by workspace and name; what is in them is not the store's to know."""

    def put(self, workspace: str, sealed: Mapping[str, bytes], *, user: str, at: float) -> None:
        """Adds or replaces; the time of the first setting stays."""

    def get(self, workspace: str, names: Sequence[str]) -> Mapping[str, bytes]:
        """Those of these names that are there."""

    def list(self, workspace: str) -> Sequence[Secret]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """Whether it was there."""

    def any_sealed(self) -> bool:
        """Whether any workspace has one."""
