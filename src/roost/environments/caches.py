"""Caches of builders, in folders that are complete or unusable: `cache/wheels/<key>` has a wheel that was compiled here,
`cache/uv/<image>` the files that uv fetched and built inside an image. Each folder has a lock file beside it; its time is its
last use. conda's packages are in `conda/cache.py`.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roost.machine import locks

WHEELS = Path("cache", "wheels")
UV = Path("cache", "uv")
FOLDERS = (WHEELS, UV)
"""Below ROOST_HOME."""
PART = ".part"
"""Suffix of the name of an incomplete folder; the name begins with a dot."""


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """Keeps the folder in existence meanwhile; many users at once are allowed. Waits for a drop that has begun."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(lock_file(folder), shared=True):
        folder.mkdir(exist_ok=True)
        os.utime(folder)
        yield


def unused(home: Path, since: float) -> list[Path]:
    """Folders that no build has used since then."""
    found = []
    for place in FOLDERS:
        for folder in (home / place).glob("*/"):
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < since:
                    found.append(folder)
    return sorted(found)


def drop(folder: Path) -> bool:
    """Deletes the folder, unless a build uses it; it is made again when it is needed."""
    with locks.tried(lock_file(folder)) as alone:
        if alone:
            shutil.rmtree(folder)
        return alone


def lock_file(folder: Path) -> Path:
    return folder.parent / f".{folder.name.removeprefix('.').removesuffix(PART)}.lock"
