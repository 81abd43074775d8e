"""Installed environments of this machine: the folders below `envs/` of the home, each named by its lock. Their sizes and last
uses are what `roost env` shows, and what tells which can go."""

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
    """Of its files; what packages share with a cache on the same disk is counted too."""
    used_at: float
    """When a run last began with it."""
    whole: bool = True
    """Not so what a killed build has left: it is of no use to anybody."""


def find(home: Path, lock: str) -> Prefix | None:
    """That of a lock, if it is installed here; looking is no use of it."""
    path = home / "envs" / lock
    try:
        used_at = (path / base.READY).stat().st_mtime
    except OSError:
        return None
    return Prefix(lock=lock, path=path, bytes=_size(path), used_at=used_at)


def listing(home: Path) -> list[Prefix]:
    """All that are whole, the one that was not used for longest first."""
    names = [ready.parent.name for ready in (home / "envs").glob(f"*/{base.READY}")]
    found = [each for each in (find(home, name) for name in names) if each is not None]
    return sorted(found, key=lambda each: each.used_at)


def unused(home: Path, seconds: float) -> list[Prefix]:
    """Those that no run has begun with for so long, and what was left half-made so long ago."""
    found = []
    for path in base.unused(home, time.time() - seconds):
        whole = (path / base.READY).exists()
        with contextlib.suppress(OSError):  # somebody else dropped it
            used_at = base.last_use(path)
            found.append(Prefix(lock=path.name, path=path, bytes=_size(path), used_at=used_at, whole=whole))
    return sorted(found, key=lambda each: each.used_at)


def drop(found: Sequence[Prefix]) -> list[Prefix]:
    """Deletes them; those that went. One that a run has now stays, and whoever needs one again has it installed."""
    gone = []
    for each in found:
        try:
            if base.drop(each.path):
                gone.append(each)
        except OSError:
            continue  # somebody else did
    return gone


def unused_images(home: Path) -> list[tuple[str, int]]:
    """Images that were built for this home and that no environment here needs any more: id and bytes. None without an engine."""
    try:
        return late.facts.unused(late.engine.find(), home)
    except late.engine.NoEngine:
        return []


def drop_images(home: Path, found: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Deletes them from the engine; those that went. One that a container or a build has stays."""
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
