"""Registered environments, their builds and archives. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from typing import Protocol

from roost.domain.environments import Archive, Build, Environment


class Environments(Protocol):
    """Registered definitions by (workspace, name, version), and the state of each recipe's build."""

    def register(self, environment: Environment) -> tuple[Environment, bool]:
        """Returns the environment with its version, and True when that is new: the same definition again is the same version."""

    def get(self, workspace: str, name: str, version: str | None = None) -> Environment:
        """The newest version by default."""

    def list(self, workspace: str, name: str | None = None) -> Sequence[Environment]:
        """The newest version of each by name; of one name all versions, newest first."""

    def build(self, key: str, platform: str) -> Build:
        """The build's state; an empty one when it was never requested."""

    def claim_build(self, key: str, platform: str, run_id: str, limit: int, *, lost: str = "") -> Build:
        """Makes the run its builder if it has none and fewer than `limit` builds are running; returns the build's state in
        any case. A builder whose run is no longer Preparing does not count; a `lost` lock counts as none."""

    def end_build(self, key: str, platform: str, *, lock: str = "", at: float = 0.0, message: str = "") -> Build:
        """With a lock: stores it. Without one: this attempt failed at that time with this message."""

    def forget_lock(self, key: str, platform: str) -> None:
        """Removes its lock; a running build continues. Safe to call twice, and when there is none."""

    def archive(self, lock: str) -> Archive | None:
        """The archive of a lock; None when there is none."""

    def archives(self) -> Sequence[Archive]:
        """All of them, the newest first."""

    def put_archive(self, archive: Archive) -> None:
        """Replaces the archive of the same lock."""

    def drop_archive(self, lock: str) -> bool:
        """True when it existed. The next sweep removes its blobs, unless something else refers to them."""
