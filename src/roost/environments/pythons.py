"""The Pythons of this node: the one that runs Roost, `python3.X` on PATH, pyenv's and uv's own. None is ever downloaded."""

import glob
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from roost.domain.recipes import satisfies
from roost.environments.base import BuildFailed

_HINT = re.compile(r"/(?:versions/|cpython-)(\d+\.\d+)[^/]*/bin/python$|/python(\d+\.\d+)$")
_ASK = (
    "import sys; print('%d.%d.%d' % sys.version_info[:3]); "
    "print(getattr(sys, '_base_executable', None) or sys.executable)"
)
_SECONDS = 20.0


@dataclass(frozen=True)
class Python:
    path: str
    version: tuple[int, int, int]

    @property
    def text(self) -> str:
        return ".".join(map(str, self.version))


def choose(wanted: str, own: Mapping[str, str] = os.environ) -> Python:
    """The nearest Python: for an exact patch the same or the closest one, for a range the newest."""
    exact = [int(part) for part in wanted.split(".")] if re.fullmatch(r"\d+(\.\d+)*", wanted) else []
    minor = ".".join(wanted.split(".")[:2]) if len(exact) >= 2 else ""
    known = {each.path: each for each in found(minor, own.get("PATH", os.defpath), own.get("PYENV_ROOT", ""))}
    fits = [each for each in known.values() if satisfies(each.version, wanted)]
    if not fits:
        there = sorted({each.version[:2] for each in found("", own.get("PATH", os.defpath), own.get("PYENV_ROOT", ""))})
        names = ", ".join(f"{major}.{minor}" for major, minor in there) or "none"
        raise BuildFailed(
            f"There is no Python {wanted} on this node.",
            hint=f"Pythons here: {names}. Ask for one of them, or install it (python{minor or '3.X'} on PATH, or with pyenv).",
        )
    if len(exact) == 3:
        return min(fits, key=lambda each: (abs(each.version[2] - exact[2]), -each.version[2]))
    return max(fits, key=lambda each: each.version)


def has(wanted: str, own: Mapping[str, str] = os.environ) -> bool:
    """True when this node has exactly the requested Python, including a named patch."""
    try:
        return not note(choose(wanted, own), wanted)
    except BuildFailed:
        return False


def is_near(wanted: str, own: Mapping[str, str] = os.environ) -> bool:
    """True when this node has a Python near enough to replace the requested one."""
    try:
        choose(wanted, own)
    except BuildFailed:
        return False
    return True


def note(chosen: Python, wanted: str) -> str:
    """The note when another Python replaces the requested one; empty when it is the requested one."""
    exact = re.fullmatch(r"\d+\.\d+\.\d+", wanted) is not None
    return f"Python {chosen.text}, the nearest to {wanted} on this node." if exact and chosen.text != wanted else ""


def found(minor: str, path: str, pyenv: str) -> list[Python]:
    """The Pythons that answer; with a minor version, only those whose name has no other version."""
    answers = [_ask(each) for each in dict.fromkeys(_candidates(path, pyenv)) if _may_be(each, minor)]
    return [each for each in answers if each is not None]


def minors(own: Mapping[str, str] = os.environ) -> set[str]:
    """Installed minor versions of Python 3. A version in the name is trusted; only the others are started."""
    known = set()
    for each in dict.fromkeys(_candidates(own.get("PATH", os.defpath), own.get("PYENV_ROOT", ""))):
        said = _said(each)
        if said:
            known |= {said} if os.access(each, os.X_OK) else set()
        elif (answer := _ask(each)) is not None:
            known.add("{}.{}".format(*answer.version))
    return {each for each in known if each.startswith("3.")}


def _may_be(path: str, minor: str) -> bool:
    return not minor or _said(path) in ("", minor)


def _said(path: str) -> str:
    """The minor version in an interpreter's path; empty for none."""
    hint = _HINT.search(path)
    return (hint[1] or hint[2]) if hint else ""


def _candidates(path: str, pyenv: str) -> Iterator[str]:
    yield getattr(sys, "_base_executable", None) or sys.executable
    for folder in path.split(os.pathsep):
        if (
            folder and os.path.basename(folder) != "shims"
        ):  # pyenv's shims are no interpreters; the real ones follow below
            yield from sorted(glob.glob(f"{glob.escape(folder)}/python3.*[0-9]"))
            yield f"{folder}/python3"
    home = os.path.expanduser("~")
    # glob skips an unreadable folder, where pathlib raises: these may be another user's.
    yield from sorted(glob.glob(f"{glob.escape(pyenv or f'{home}/.pyenv')}/versions/*/bin/python"))
    yield from sorted(glob.glob(f"{glob.escape(home)}/.local/share/uv/python/*/bin/python"))


@cache
def _ask(path: str) -> Python | None:
    """Version and real path, from the interpreter itself; None when it does not answer."""
    if not os.access(path, os.X_OK):
        return None
    command = [path, "-I", "-S", "-c", _ASK]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.splitlines()
    if answer.returncode or len(lines) != 2:
        return None
    major, minor, patch = map(int, lines[0].split("."))
    return Python(lines[1], (major, minor, patch))
