"""Installed environments of this machine: the folders below `envs/` of the home, each named by its lock. `roost env` shows
their sizes and last uses, and uses them to find those to delete.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roost.environments import base
from roost.sdk import late


@dataclass(frozen=True, kw_only=True)
class Prefix:
    lock: str
    path: Path
    bytes: int
    """Size of its files, including those that packages share with a cache on the same disk."""
    used_at: float
    """When a run last started with it."""
    whole: bool = True
    """False for the remains of a killed build, which cannot be used."""


def find(home: Path, lock: str) -> Prefix | None:
    """The prefix of a lock, if it is installed here; this does not count as a use."""
    path = home / "envs" / lock
    try:
        used_at = (path / base.READY).stat().st_mtime
    except OSError:
        return None
    return Prefix(lock=lock, path=path, bytes=_size(path), used_at=used_at)


def listing(home: Path) -> list[Prefix]:
    """All complete prefixes, the least recently used first."""
    names = [ready.parent.name for ready in (home / "envs").glob(f"*/{base.READY}")]
    found = [each for each in (find(home, name) for name in names) if each is not None]
    return sorted(found, key=lambda each: each.used_at)


def unused(home: Path, seconds: float) -> list[Prefix]:
    """Prefixes with which no run has started for this long, and incomplete ones of that age."""
    found = []
    for path in base.unused(home, time.time() - seconds):
        whole = (path / base.READY).exists()
        with contextlib.suppress(OSError):  # another process deleted it
            used_at = base.last_use(path)
            found.append(Prefix(lock=path.name, path=path, bytes=_size(path), used_at=used_at, whole=whole))
    return sorted(found, key=lambda each: each.used_at)


def drop(found: Sequence[Prefix]) -> list[Prefix]:
    """Deletes them; returns the deleted ones. A prefix in use by a run stays; a deleted one is installed again when needed."""
    gone = []
    for each in found:
        try:
            if base.drop(each.path):
                gone.append(each)
        except OSError:
            continue  # another process deleted it
    return gone


def unused_images(home: Path) -> list[tuple[str, int]]:
    """Images built for this home that no environment here needs any more: id and bytes. Empty without a container engine."""
    try:
        return late.facts.unused(late.engine.find(), home)
    except late.engine.NoEngine:
        return []


def drop_images(home: Path, found: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Deletes them from the container engine; returns the deleted ones. An image in use by a container or a build stays."""
    if not found:
        return []
    engine = late.engine.find()
    return [each for each in found if late.facts.drop(engine, home, each[0])]


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total
