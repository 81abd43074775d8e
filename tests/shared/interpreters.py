"""The Python interpreters that tests run the job library with: found at run time, skipped with a reason where one is missing.

Looked for in ROOST_TEST_PYTHONS (paths of interpreters, separated by `:`), then `python3.X` on PATH, then pyenv's versions.
"""

import glob
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest
from tests import skips

WANTED = ("3.6", "3.8", "3.10", "3.11", "3.13")
ALSO = ("3.7", "3.9", "3.12")


def python(version: str) -> str:
    """The path of an interpreter of this minor version; skips the test where there is none."""
    found = _find(version)
    if found is None:
        skips.skip(
            f"python{version}",
            f"no Python {version} on this machine: name one in ROOST_TEST_PYTHONS, or put python{version} on PATH",
        )
    return found


each_python = pytest.mark.parametrize("version", WANTED)
every_python = pytest.mark.parametrize(
    "version", [*WANTED, *(pytest.param(version, marks=pytest.mark.slow) for version in ALSO)]
)


@cache
def _find(version: str) -> str | None:
    for path in _candidates(version):
        found, itself = _ask(path)
        if found == version:
            return itself
    return None


def _candidates(version: str) -> Iterator[str]:
    yield from filter(None, os.environ.get("ROOST_TEST_PYTHONS", "").split(os.pathsep))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which(f"python{version}", path=folder)
        if found:
            yield found
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(f"{glob.escape(root)}/versions/{version}.*/bin/python"))


@cache
def _ask(path: str) -> tuple[str, str]:
    """Version and path, asked of the interpreter itself: a name on PATH may be a shim, with nothing behind it."""
    command = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return "", ""
    lines = answer.stdout.splitlines() if answer.returncode == 0 else []
    return (lines[0], lines[1]) if len(lines) == 2 else ("", "")
