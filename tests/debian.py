"""What tests and benchmarks need of the system, in one table. `python -m tests.debian test|real|bench` makes sure of it before
they begin: installed in one go where this is root's machine with apt-get, else named. Fixtures only ask what is `missing`.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_LOCKED = "Could not get lock", "Unable to acquire the dpkg frontend lock", "Unable to lock directory"
_INTERRUPTED = "dpkg --configure -a"  # apt's own advice after one that was killed
_LOCK_SECONDS = 900.0


@dataclass(frozen=True)
class Need:
    what: str
    packages: tuple[str, ...]
    there: tuple[str, ...]
    """Programs on PATH or patterns of absolute paths, with `|` between alternatives. All of them mean that it is installed."""
    chores: tuple[str, ...]
    """Who needs it: `test`, `real`, `bench`."""


FUSE = Need("FUSE", ("fuse3",), ("fusermount3",), ("test", "real", "bench"))
OPEN_MPI = Need("Open MPI", ("libopenmpi-dev", "openmpi-bin", "g++"), ("mpicxx", "mpirun", "g++"), ("real",))
POSTGRESQL = Need("PostgreSQL", ("postgresql",), ("initdb|/usr/lib/postgresql/*/bin/initdb",), ("real",))
CHROMIUM = Need("Chromium", ("chromium", "chromium-driver"), ("chromium", "chromedriver"), ("real",))
PODMAN = Need(
    "Podman and a registry",
    ("podman", "runc", "mmdebstrap", "docker-registry", "apache2-utils"),
    ("podman", "runc", "mmdebstrap", "docker-registry", "htpasswd"),
    ("real",),
)
NAMESPACES = Need("network namespaces", ("iproute2", "util-linux"), ("ip", "unshare"), ("test", "real"))
NPM = Need("npm", ("npm",), ("npm",), ("real",))
LOAD = Need("load for endpoints", ("wrk",), ("wrk",), ("real", "bench"))
CURL = Need("curl", ("curl",), ("curl",), ("real", "bench"))
NEEDS = (FUSE, OPEN_MPI, POSTGRESQL, CHROMIUM, PODMAN, NAMESPACES, NPM, LOAD, CURL)


def missing(need: Need) -> str:
    """Why what needs it is skipped; empty when it is there. Installs nothing."""
    absent = [name.split("|")[0] for name in need.there if not any(map(_is_there, name.split("|")))]
    if not absent:
        return ""
    return f"{need.what}: not on this machine: {', '.join(absent)} (apt install {' '.join(need.packages)})"


def _is_there(name: str) -> bool:
    if name.startswith("/"):
        return any(Path("/").glob(name[1:]))
    return shutil.which(name) is not None or shutil.which(name, path="/usr/sbin:/sbin") is not None


def ensure(chore: str, tell: Callable[[str], None] = print, lock_seconds: float = _LOCK_SECONDS) -> list[Need]:
    """Installs what the chore needs, all of it at once. Returns what is not there afterwards; every step is told."""
    wanted = [need for need in NEEDS if chore in need.chores and missing(need)]
    if not wanted:
        return []
    if os.geteuid() or not shutil.which("apt-get"):
        for need in wanted:
            tell(f"Tests will be skipped. {missing(need)}")
        return wanted
    deadline = time.monotonic() + lock_seconds  # for all calls together
    _install([name for need in wanted for name in need.packages], tell, deadline)
    left = [need for need in wanted if missing(need)]
    if left and len(wanted) > 1:  # one name that this distribution lacks stops all of them
        for need in left:
            _install(need.packages, tell, deadline, refresh=False)
        left = [need for need in left if missing(need)]
    for need in left:
        tell(f"Tests will be skipped. {missing(need)}")
    return left


def _install(packages: Sequence[str], tell: Callable[[str], None], deadline: float, *, refresh: bool = True) -> None:
    tell(f"Installing system packages: {' '.join(packages)}")
    words = ("install", "-y", "--no-install-recommends", *packages)
    said = _apt(words, tell, deadline)
    if (
        said and refresh and _apt(("update",), tell, deadline) == ""
    ):  # a new machine has no list of packages, or an old one
        said = _apt(words, tell, deadline)
    if said:
        tell(f"apt-get: {' '.join(said.split())[-300:]}")


def _apt(words: Sequence[str], tell: Callable[[str], None], deadline: float) -> str:
    """What apt-get complained of; empty when all went well. Another process that holds its lock is waited for."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    waits = repaired = False
    while True:
        done = subprocess.run(["apt-get", "-q", *words], env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            return ""
        if _INTERRUPTED in done.stderr and not repaired:
            tell("Finishing an installation that was interrupted: dpkg --configure -a")
            subprocess.run(["dpkg", "--configure", "-a"], env=environment, capture_output=True, check=False)
            repaired = True
            continue
        locked = next((line for line in done.stderr.splitlines() if any(word in line for word in _LOCKED)), "")
        if not locked or time.monotonic() > deadline:
            return done.stderr.strip() or f"it ended with {done.returncode}"
        if not waits:
            tell(f"Waiting for another apt, at most {deadline - time.monotonic():.0f} s. {locked}")
        waits = True
        time.sleep(max(0.0, min(2.0, deadline - time.monotonic())))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not any(sys.argv[1] in need.chores for need in NEEDS):
        sys.exit("usage: python -m tests.debian test|real|bench")
    began = time.monotonic()
    ensure(sys.argv[1], partial(print, flush=True))
    if time.monotonic() - began > 1:
        print(f"System packages: {time.monotonic() - began:.0f} s", flush=True)
