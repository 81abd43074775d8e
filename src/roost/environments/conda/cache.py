"""The conda packages that builds have fetched, `ROOST_HOME/cache/conda/pkgs`: finds those that no prefix uses, and deletes them.
A prefix has hard links to their files, so a package in use costs no extra space, and its deletion would free none.
"""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from roost.machine import locks

PACKAGES = Path("cache", "conda", "pkgs")


def unused(home: Path, since: float) -> list[tuple[Path, int]]:
    """Unpacked packages that no prefix uses and no build has touched since then, with their sizes."""
    found = []
    for package in _packages(home / PACKAGES):
        size, last, linked = 0, 0.0, False
        for path in package.rglob("*"):
            with contextlib.suppress(OSError):
                facts = path.lstat()
                if path.is_file() and not path.is_symlink():
                    size, last = size + facts.st_size, max(last, facts.st_ctime)  # a new or removed link counts too
                    linked = linked or facts.st_nlink > 1
        if not linked and last < since:
            found.append((package, size))
    return found


def drop(package: Path) -> bool:
    """Deletes an unpacked package, unless a build uses it; it is fetched again when it is needed."""
    with locks.tried(package.with_name(f"{package.name}.lock")) as alone:  # rattler holds it while it writes or links
        if alone:
            shutil.rmtree(package)
        return alone


def _packages(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.name.startswith("."):
                yield entry
