"""Registered environments, their builds and archives. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from typing import Protocol

from roost.domain.environments import Archive, Build, Environment


class Environments(Protocol):
    """Registered definitions by (workspace, name, version), and where the builds of recipes stand."""

    def register(self, environment: Environment) -> tuple[Environment, bool]:
        """With the version that it has, and whether that is new: the same definition again is the same version."""

    def get(self, workspace: str, name: str, version: str | None = None) -> Environment:
        """The newest version when none is named."""

    def list(self, workspace: str, name: str | None = None) -> Sequence[Environment]:
        """The newest version of each by name; of one name all versions, newest first."""

    def build(self, key: str, platform: str) -> Build:
        """Where it stands; an empty one when nobody has asked for it yet."""

    def claim_build(self, key: str, platform: str, run_id: str, limit: int, *, lost: str = "") -> Build:
        """Makes the run its builder if nobody builds it and fewer than `limit` builds go on; either way where it stands then.
        A builder whose run is not Preparing any more has left its place; a lock that is `lost` counts as none."""

    def end_build(self, key: str, platform: str, *, lock: str = "", at: float = 0.0, message: str = "") -> Build:
        """With a lock it is known from now on; without one, this attempt failed at that time with these words."""

    def forget_lock(self, key: str, platform: str) -> None:
        """Its lock is not known any more; a build that goes on goes on. Safe twice, and where there is none."""

    def archive(self, lock: str) -> Archive | None:
        """What is kept of a lock; None for nothing."""

    def archives(self) -> Sequence[Archive]:
        """All of them, the newest first."""

    def put_archive(self, archive: Archive) -> None:
        """In the place of what is known of the same lock."""

    def drop_archive(self, lock: str) -> bool:
        """Whether there was one. Its blobs go with the next sweep, unless something else refers to them."""
