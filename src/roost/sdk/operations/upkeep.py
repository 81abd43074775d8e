"""Disk space: usage at the control plane and in this machine's home, deletion of runs, sweeps, old caches."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roost.environments import base as prefixes
from roost.environments import caches
from roost.environments.conda import cache as conda_cache
from roost.sdk.connection.connections import Connection
from roost.transport.client import path_of

CACHES = ("cache/snapshots", "cache/blobs")
"""Folders under ROOST_HOME that only save time; entries unused for long can be deleted."""
_DROPS = {conda_cache.PACKAGES.name: conda_cache.drop, **{place.name: caches.drop for place in caches.FOLDERS}}
"""By the name of their folder."""
_LONG = 3600.0


def delete_run(connection: Connection, run_id: str) -> list[str]:
    """Deletes an ended run and the runs below it; returns their ids. Raises Conflict when one of them has not ended."""
    answer = connection.client.call("DELETE", path_of("runs", run_id))
    return [str(each) for each in answer["deleted"]]


def family(connection: Connection, run_id: str) -> list[str]:
    """A run's id, then those of all runs below it: all that would be deleted with it."""
    answer = connection.client.call("GET", path_of("runs", run_id, "children"), params={"recursive": "true"})
    return [run_id, *(str(each["id"]) for each in answer["runs"])]


def runs_behind_models(connection: Connection, workspace: str) -> dict[str, list[str]]:
    """Registered models, as `name:version`, by the run that made each."""
    found: dict[str, list[str]] = {}
    for model in connection.client.call("GET", path_of("workspaces", workspace, "models"))["models"]:
        if model["run_id"]:
            found.setdefault(model["run_id"], []).append(f"{model['name']}:{model['version']}")
    return found


def usage(connection: Connection) -> dict[str, Any]:
    """The disk usage at the control plane; docs/how-it-works/wire.md has the fields."""
    answer: dict[str, Any] = connection.client.call("GET", "/api/usage", timeout=_LONG)
    return answer


def sweep(connection: Connection, *, dry_run: bool = False, without: Sequence[str] = ()) -> dict[str, Any]:
    """Frees unreferenced blobs; with `dry_run` only reports them, as if the runs `without` were deleted."""
    body = {"dry_run": dry_run, "without": list(without)}
    answer: dict[str, Any] = connection.client.call("POST", "/api/sweep", json=body, timeout=_LONG)
    return answer


def folders(home: Path) -> dict[str, int]:
    """Bytes of each folder in the home, and of the files beside them; links are not followed. A file with several names, such
    as a conda package in a cache and in environments, counts where it is found first."""
    found: dict[str, int] = {}
    seen: set[tuple[int, int]] = set()
    for entry in sorted(os.scandir(home), key=lambda each: each.name):
        if entry.is_dir(follow_symlinks=False):
            found[f"{entry.name}/"] = sum(size for _, size, _ in _files(Path(entry.path), seen))
        else:
            found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found


def old_caches(home: Path, seconds: float) -> list[tuple[Path, int]]:
    """Cache entries and installed environments that were unused for this long, with their sizes."""
    limit = time.time() - seconds
    places = [home / place for place in CACHES]
    old = [(path, size) for place in places for path, size, used in _files(place) if used < limit]
    whole = [*prefixes.unused(home, limit), *caches.unused(home, limit)]
    old += [(folder, sum(size for _, size, _ in _files(folder))) for folder in whole]
    return old + conda_cache.unused(home, limit)


def drop_caches(found: Sequence[tuple[Path, int]]) -> int:
    """Removes these; returns the bytes freed. An environment in use by a run stays, and a folder in use by a build."""
    freed = 0
    for path, size in found:
        try:
            if path.is_dir():
                freed += size if _DROPS.get(path.parent.name, prefixes.drop)(path) else 0
                continue
            path.unlink()
            freed += size
        except OSError:
            continue  # already removed, or not removable: a cache that stays is no error
    return freed


def _files(folder: Path, seen: set[tuple[int, int]] | None = None) -> Iterator[tuple[Path, int, float]]:
    """Every file below, with its size on disk and its last use; without files with several names that are in `seen`."""
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(place, name))
            except OSError:
                continue
            if seen is not None and found.st_nlink > 1:
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
            yield Path(place, name), found.st_size, max(found.st_mtime, found.st_atime)
