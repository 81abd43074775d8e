"""The one way for a test to skip: `skip(word, reason)`, or `needs(word)` for what can be looked up. The word is one of WORDS.

ROOST_TEST_REQUIRE names words, separated by commas, that this machine must have: a test that would skip for one of them fails.
`python -m tests.skips` prints the words that this machine can have; `.ci/run` requires those. Every run of tests ends with the
skipped ones, counted by reason.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest
from tests import debian

VARIABLE = "ROOST_TEST_REQUIRE"
PYTHONS = tuple(f"python3.{minor}" for minor in range(6, 14))
GROUPS = {"interpreters": PYTHONS}
"""Words that stand for several in ROOST_TEST_REQUIRE."""
PACKAGES: Mapping[str, debian.Need] = {
    "fuse": debian.FUSE,
    "mpi": debian.OPEN_MPI,
    "postgresql": debian.POSTGRESQL,
    "chromium": debian.CHROMIUM,
    "podman": debian.PODMAN,
    "namespaces": debian.NAMESPACES,
    "npm": debian.NPM,
}
_LONGEST = 160


def is_root() -> bool:
    return os.geteuid() == 0


def _can_install(need: debian.Need) -> Callable[[], bool]:
    """There already, or for root to install: apt knows every package. One that it could not install then fails the tests."""

    def can() -> bool:
        if not debian.missing(need):
            return True
        return is_root() and all(_succeeds("apt-cache", "show", package) for package in need.packages)

    return can


def _with_root(*tests: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: is_root() and all(test() for test in tests)


def _succeeds(*command: str) -> bool:
    """Whether a command can be run and ends with 0."""
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _may_mount() -> bool:
    return _succeeds("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt")


def _may_make_networks() -> bool:
    return _succeeds("unshare", "--net", "true")


def _has_pyenv() -> bool:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions").is_dir()


def _never() -> bool:
    return False


WORDS: Mapping[str, Callable[[], bool]] = {
    **dict.fromkeys(PYTHONS, _has_pyenv),  # a machine with pyenv is set up for the tests, and has all of them
    "pip": lambda: find_spec("ensurepip") is not None,
    "root": is_root,
    "disks": _with_root(_may_mount),
    "cgroups": lambda: is_root() and any(os.access(f"/sys/fs/cgroup{each}", os.W_OK) for each in ("", "/memory")),
    "fuse": _with_root(lambda: os.access("/dev/fuse", os.R_OK | os.W_OK), _can_install(debian.FUSE)),
    "namespaces": _with_root(_may_make_networks, _can_install(debian.NAMESPACES)),
    "podman": _with_root(_may_mount, _may_make_networks, _can_install(debian.PODMAN)),
    **{name: _can_install(PACKAGES[name]) for name in ("mpi", "postgresql", "chromium", "npm")},
    # What no machine is asked for: it depends on the network, on other people's packages, or is true of some machines only.
    **dict.fromkeys(("downloads", "systemd", "no-gpu", "temporary-folder"), _never),
}
"""Why a test may skip, and whether this machine can have it."""


def skip(word: str, reason: str) -> NoReturn:
    """Skips the test that runs, or fails it where the word is required."""
    if word not in WORDS:
        raise ValueError(f"{word!r} is no word of tests/skips.py; they are: {', '.join(WORDS)}")
    if word in required():
        pytest.fail(f"{VARIABLE} names {word!r}, and the test would skip: {reason}", pytrace=False)
    pytest.skip(reason)


def needs(word: str) -> None:
    """Skips where this user is not root, or where the packages of that word are not installed."""
    if word == "root":
        if not is_root():
            skip(word, "this test needs root")
    elif reason := debian.missing(PACKAGES[word]):
        skip(word, reason)


def required(text: str | None = None) -> frozenset[str]:
    """The words of ROOST_TEST_REQUIRE. ValueError for one that is unknown: it would require nothing."""
    named = (os.environ.get(VARIABLE, "") if text is None else text).replace(" ", "").split(",")
    words = [word for name in named if name for word in GROUPS.get(name, (name,))]
    if unknown := sorted(set(words) - set(WORDS)):
        raise ValueError(f"{VARIABLE} has {', '.join(unknown)}; the words are: {', '.join((*GROUPS, *WORDS))}")
    return frozenset(words)


def summary(reasons: Iterable[str]) -> list[str]:
    """Lines, the most frequent reason first; none when nothing was skipped."""
    counts = Counter(" ".join(reason.removeprefix("Skipped: ").split())[:_LONGEST] for reason in reasons)
    if not counts:
        return []
    lines = [f"  {count} × {reason}" for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return [f"{counts.total()} skipped, for {len(counts)} reason{'s' * (len(counts) > 1)}:", *lines]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit("usage: python -m tests.skips")
    print(",".join(word for word, can in WORDS.items() if can()))
