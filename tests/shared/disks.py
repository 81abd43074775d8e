"""Disks that are full soon."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests import skips


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """One of that size, there while the block runs."""
    skips.needs("root")
    place.mkdir(parents=True, mode=0o700)
    options = f"size={size},mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        skips.skip("disks", f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def enlarge(disk: Path, size: str) -> None:
    """Gives a small disk another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
