"""What tests and benchmarks need of Debian: installed where this is root's machine with apt-get; else it is said what is
missing. One at a time, for the tests run in several processes.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

FUSE = ("fuse3", "libfuse3-3")
OPEN_MPI = ("libopenmpi-dev", "openmpi-bin", "g++")


def missing(packages: Sequence[str], programs: Sequence[str]) -> str:
    """Why these programs are not here though it was tried to install them; empty when they are."""
    return missing_unless(lambda: all(shutil.which(program) for program in programs), packages)


def missing_unless(there: Callable[[], bool], packages: Sequence[str]) -> str:
    """The same for what is not found by the names of programs."""
    if there():
        return ""
    wanted = " ".join(packages)
    if os.geteuid() or not shutil.which("apt-get"):
        return f"not here, and installing it needs root and apt-get: {wanted}"
    with open(Path(tempfile.gettempdir(), "roost-tests-apt.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if there():
            return ""
        install = ["install", "-y", "--no-install-recommends", *packages]
        if _apt(install).returncode:  # a new machine has no list of packages, or an old one
            _apt(["update"])
            done = _apt(install)
            if done.returncode:
                return f"cannot be installed: {wanted}: {done.stderr.strip()[-300:]}"
    return "" if there() else f"not there though it was installed: {wanted}"


def _apt(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", "-q", *words], env=environment, capture_output=True, text=True, check=False)
