"""Mounts on a machine that has FUSE: installed if it must be, then nothing of tests/data/test_mounting.py may be left out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.real, pytest.mark.timeout(580)]


@pytest.fixture(autouse=True)
def fuse() -> None:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse is not there or not for this user")
    if shutil.which("fusermount3") is None:
        if os.geteuid() or shutil.which("apt-get") is None:
            pytest.skip("fusermount3 is not installed, and installing it needs root and apt")
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", "fuse3", "libfuse3-3"], check=True)


def test_every_mount_test_runs_and_passes() -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-m", "not real", "tests/data/test_mounting.py"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
    assert "skipped" not in done.stdout, done.stdout[-3000:]
