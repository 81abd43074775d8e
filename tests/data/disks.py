"""Disks that are full soon."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """One of that size, there while the block runs."""
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True
    ).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
