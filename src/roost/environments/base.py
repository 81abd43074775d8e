"""The interface of builders, the format of a lock, and the life of a prefix: made once, completely, under its own file lock."""

import contextlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from roost.domain import names
from roost.domain.conda import INDEX_IF_UNREACHABLE
from roost.domain.errors import InvalidInput, RoostError
from roost.domain.recipes import Recipe
from roost.machine import locks

if TYPE_CHECKING:
    from roost.environments.archiving.base import KeptFiles

READY = ".ready"
"""The file in a prefix that marks it as complete; its time is the last use of the prefix."""
_HEADER = "# roost-lock 1"
_FACT = re.compile(r"# (python|platform|kind|source|note) (.+)")
_NATIVE = ", installed natively (no container)"  # older locks say so there, whatever was asked for
_PAUSE = 0.1
_held = threading.local()
_WAITING = "Another run installs the same environment here; waiting for it."

PIP, CONDA, IMAGE = "pip", "conda", "image"
"""The kinds of locks."""
INDEX = "index"
"""The source of a lock whose conda packages come from a package index instead of their channels."""

Say = Callable[[str], None]
"""Writes a line to the build log."""
Meanwhile = Callable[[], None]
"""Called several times a second during long work; an exception from it ends the work."""


Fetch = Callable[[str, Path], object]
"""Writes a blob to a new file."""


def _no_blobs(name: str, _: Path) -> None:
    raise InvalidInput(f"The environment needs the blob {name}, and there is nobody here to fetch it.")


def _no_secret(_: str) -> None:
    return None


def _no_lock() -> None:
    return None


@dataclass(frozen=True)
class Private:
    """The additional input of a builder, beside a recipe or a lock."""

    fetch: Fetch = _no_blobs
    """Gets wheels that the user supplied (`roost-blob:` lines)."""
    requirements: tuple[str, ...] = ()
    """The environment's own lines: their options may have passwords, which no lock has."""
    secret: Callable[[str], str | None] = _no_secret
    """Reads a value from the workspace's key vault, such as the password of a registry; None when it does not exist."""
    keep: Callable[[Path], str] | None = None
    """Stores a file as a blob, for other nodes; None without a control plane."""
    recipe: Recipe | None = None
    """The recipe of the lock: its Dockerfile is built again when the image no longer exists anywhere."""
    conda_packages: str = INDEX_IF_UNREACHABLE
    """The allowed sources of conda packages: one of `PACKAGE_SOURCES`."""
    index_lock: "Callable[[], Lock | None]" = _no_lock
    """The earlier lock of the same recipe from a package index; None for none."""
    kept: Callable[[], Path] | None = None
    """Writes out the stored files of the lock (`archiving/base.py`), which is then installed from them alone, without a network.
    None for an installation from indexes, channels and registries."""


class BuildFailed(RoostError):
    """An environment cannot be resolved or installed; the message is the resolver's own."""

    code = "build_failed"


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The exact list of what to install; its text is hashed and stored."""

    kind: str = PIP
    """The builder that installs it."""
    python: str
    """The Python that it was made for, with its patch."""
    platform: str
    source: str = ""
    """`INDEX` when its conda packages come from a package index; else empty."""
    notes: tuple[str, ...] = ()
    """The differences from the request, a line each: another patch of Python, no container although an image was named."""
    body: str
    """The builder's own format: for pip the lines of a requirements file, exact versions with their hashes."""

    @property
    def text(self) -> str:
        facts = [f"# python {self.python}", f"# platform {self.platform}"]
        facts += [f"# kind {self.kind}"] if self.kind != PIP else []
        facts += [f"# source {self.source}"] if self.source else []
        return "\n".join([_HEADER, *facts, *(f"# note {note}" for note in self.notes), self.body])


def read_lock(text: str) -> Lock:
    """InvalidInput when the text is not a lock."""
    lines = text.split("\n")
    facts: dict[str, str] = {}
    notes = []
    first = 1
    for first, line in enumerate(lines[1:], start=1):  # noqa: B007 - the body begins there
        found = _FACT.fullmatch(line)
        if found is None:
            break
        if found[1] == "note":
            notes.append(found[2])
        else:
            facts[found[1]] = found[2]
    if lines[0] != _HEADER or not facts.keys() >= {"python", "platform"}:
        raise InvalidInput(f"This is not a lock of an environment: {text[:80]!r}.")
    return Lock(
        kind=facts.get("kind", PIP),
        python=facts["python"],
        platform=facts["platform"].removesuffix(_NATIVE),
        source=facts.get("source", ""),
        notes=tuple(notes),
        body="\n".join(lines[first:]),
    )


class Builder(Protocol):
    """Makes locks and prefixes of one kind. **Processes**: all that it starts have ended when a call returns or raises.
    **Twice**: both may be called again after a failure."""

    def resolve(self, recipe: Recipe) -> Lock:
        """BuildFailed with the resolver's message when there is no solution."""

    def install(self, lock: Lock, prefix: Path) -> None:
        """Makes `prefix/bin/python` with everything in the lock. The folder does not exist before; BuildFailed may leave a part
        of it."""

    def archive(self, lock: Lock, prefix: Path, kept: "KeptFiles") -> None:
        """Stores every file of a lock that is installed in that prefix; `kept.missing` lists the files that are not available."""


def find(home: Path, lock: str) -> Path | None:
    """The prefix of a lock (its blob's name), when it exists and is complete. The answer is reliable only while the caller holds
    it."""
    prefix = _prefix(home, lock)
    try:
        os.utime(prefix / READY)
    except OSError:
        return None
    return prefix


def _always(_: Path) -> bool:
    return True


def ensure(
    home: Path,
    lock: str,
    install: Callable[[Path], None],
    say: Say,
    meanwhile: Meanwhile,
    usable: Callable[[Path], bool] = _always,
) -> Path:
    """The prefix. It is made if it does not exist, or is not `usable` because something it needs outside itself is gone. Safe to
    call from many processes at once: one installs, the others wait.

    It is made at its final path, since its scripts contain the interpreter's path. Nothing uses it before `.ready` is written;
    the rest of a killed installation is made again.
    """
    found = find(home, lock)
    if found is not None and usable(found):
        return found
    prefix = _prefix(home, lock)
    prefix.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone(_lock_file(prefix), say, meanwhile, _WAITING):
        found = find(home, lock)
        if found is None or not usable(found):
            if prefix.exists():
                (prefix / READY).unlink(missing_ok=True)  # first, so that no run starts with it
                shutil.rmtree(prefix)
            install(prefix)
            (prefix / READY).touch()
    return prefix


def hold(home: Path, lock: str) -> int:
    """Protects the prefix of a lock, existing or not, from `drop` while this descriptor is open; the end of the process closes
    it. Waits for a drop that has begun: hold first, then find."""
    prefix = _prefix(home, lock)
    prefix.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return locks.hold(_use_file(prefix), shared=True)


def unused(home: Path, since: float) -> list[Path]:
    """Prefixes that no run has started with since then, and incomplete ones of builds that ended before then."""
    found = []
    for prefix in (home / "envs").glob("[0-9a-f]*/"):
        with contextlib.suppress(OSError):
            if last_use(prefix) < since:
                found.append(prefix)
    return sorted(found)


def last_use(prefix: Path) -> float:
    """Time when a run last started with it; for an incomplete prefix, time of the last change in its folder."""
    ready = prefix / READY
    return (ready if ready.exists() else prefix).stat().st_mtime


def drop(prefix: Path) -> bool:
    """Deletes a prefix, unless a run uses it or a process makes it; it is installed again when it is needed."""
    with contextlib.ExitStack() as held:
        for path in (_use_file(prefix), _lock_file(prefix)):
            if not held.enter_context(locks.tried(path)):
                return False
        (prefix / READY).unlink(missing_ok=True)  # first, so that no run starts with it
        shutil.rmtree(prefix)
        return True


def _prefix(home: Path, lock: str) -> Path:
    return home / "envs" / names.blob(lock)


def _use_file(prefix: Path) -> Path:
    return prefix.parent / f".{prefix.name}.use"


def _lock_file(prefix: Path) -> Path:
    return prefix.parent / f".{prefix.name}.lock"


def held() -> tuple[int, ...]:
    """The descriptors of this thread's locks. Programs inherit them: one that outlives a killed agent still holds the lock."""
    return tuple(getattr(_held, "descriptors", ()))


@contextmanager
def alone(path: Path, say: Say, meanwhile: Meanwhile, words: str) -> Iterator[None]:
    """Holds an exclusive lock among the processes of this machine; waits for it, and logs the wait once."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        told = False
        while True:
            if locks.take(descriptor):
                break
            if not told:
                say(words)
                told = True
            meanwhile()
            time.sleep(_PAUSE)
        before = held()
        _held.descriptors = (*before, descriptor)
        try:
            yield
        finally:
            _held.descriptors = before
            locks.give_back(descriptor)  # programs that inherited it have it too
    finally:
        os.close(descriptor)
