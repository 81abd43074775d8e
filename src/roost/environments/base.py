"""What a builder promises, what a lock looks like, and how a prefix comes to be: once, whole, under a lock of its own."""

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
"""The file in a prefix that says that all of it is there; its time is when the prefix was last used."""
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
"""Takes a line of the build log."""
Meanwhile = Callable[[], None]
"""Called several times a second while something takes its time; what it raises ends the work."""


Fetch = Callable[[str, Path], object]
"""Writes a blob to a file that is not there yet."""


def _no_blobs(name: str, _: Path) -> None:
    raise InvalidInput(f"The environment needs the blob {name}, and there is nobody here to fetch it.")


def _no_secret(_: str) -> None:
    return None


def _no_lock() -> None:
    return None


@dataclass(frozen=True)
class Private:
    """What a builder is given beside a recipe or a lock."""

    fetch: Fetch = _no_blobs
    """Gets wheels that the user gave (`roost-blob:` lines)."""
    requirements: tuple[str, ...] = ()
    """The environment's own lines: options there may have passwords, which no lock has."""
    secret: Callable[[str], str | None] = _no_secret
    """A value out of the workspace's key vault, such as the password of a registry; None when it is not there."""
    keep: Callable[[Path], str] | None = None
    """Makes a file a blob, for other nodes; None where there is no control plane."""
    recipe: Recipe | None = None
    """What the lock was made of: a Dockerfile there is built again when its image is nowhere any more."""
    conda_packages: str = INDEX_IF_UNREACHABLE
    """Where conda packages may come from: one of `PACKAGE_SOURCES`."""
    index_lock: "Callable[[], Lock | None]" = _no_lock
    """The lock of the same recipe that was made from a package index before; None for none."""
    kept: Callable[[], Path] | None = None
    """Lays out what is kept of the lock (`archiving/base.py`): it is installed from that alone, with no network. None for the
    indexes, channels and registries."""


class BuildFailed(RoostError):
    """An environment cannot be resolved or installed; the message is the resolver's own."""

    code = "build_failed"


@dataclass(frozen=True, kw_only=True)
class Lock:
    """Exactly what to install; its text is what is hashed and kept."""

    kind: str = PIP
    """Which builder installs it."""
    python: str
    """The Python it was made for, with its patch."""
    platform: str
    source: str = ""
    """`INDEX` for one whose conda packages come from there; empty for what was asked for."""
    notes: tuple[str, ...] = ()
    """What is not as it was asked for, a line each: another patch of Python, no container where an image was named."""
    body: str
    """The builder's own: for pip the lines of a requirements file, exact versions with their hashes."""

    @property
    def text(self) -> str:
        facts = [f"# python {self.python}", f"# platform {self.platform}"]
        facts += [f"# kind {self.kind}"] if self.kind != PIP else []
        facts += [f"# source {self.source}"] if self.source else []
        return "\n".join([_HEADER, *facts, *(f"# note {note}" for note in self.notes), self.body])


def read_lock(text: str) -> Lock:
    """InvalidInput when it is not one."""
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
    """Makes locks and prefixes of one kind. **Processes**: whatever it starts has ended when a call returns or raises.
    **Twice**: both may be called again after a failure."""

    def resolve(self, recipe: Recipe) -> Lock:
        """BuildFailed with the resolver's words when there is no solution."""

    def install(self, lock: Lock, prefix: Path) -> None:
        """Makes `prefix/bin/python` with everything of the lock. The folder is not there before; BuildFailed may leave a part."""

    def archive(self, lock: Lock, prefix: Path, kept: "KeptFiles") -> None:
        """Keeps every file of a lock that is installed in that prefix; what cannot be had is in its `missing`."""


def find(home: Path, lock: str) -> Path | None:
    """The prefix of a lock (its blob's name), when it is there and whole. Only who holds it can rely on the answer."""
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
    """The prefix, made if it is not there, or there and not `usable`, since what it needs beside it is gone. Any number may ask
    at once: one installs, the others wait for it.

    It is made where it stays, for its scripts name their interpreter by its path; until `.ready` is written nobody uses it,
    and what a killed process left half-made is made anew.
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
                (prefix / READY).unlink(missing_ok=True)  # first: nobody begins with what is about to go
                shutil.rmtree(prefix)
            install(prefix)
            (prefix / READY).touch()
    return prefix


def hold(home: Path, lock: str) -> int:
    """Keeps the prefix of a lock, be it there yet or not, from being dropped as long as this descriptor is open, which a
    process's end sees to. Waits for a drop that has begun: hold first, then find."""
    prefix = _prefix(home, lock)
    prefix.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return locks.hold(_use_file(prefix), shared=True)


def unused(home: Path, since: float) -> list[Path]:
    """Prefixes that no run has begun with since then, and what builds that were ended before then have left half-made."""
    found = []
    for prefix in (home / "envs").glob("[0-9a-f]*/"):
        with contextlib.suppress(OSError):
            if last_use(prefix) < since:
                found.append(prefix)
    return sorted(found)


def last_use(prefix: Path) -> float:
    """When a run last began with it; of one that is half-made, when something was last put into its folder."""
    ready = prefix / READY
    return (ready if ready.exists() else prefix).stat().st_mtime


def drop(prefix: Path) -> bool:
    """Deletes a prefix, unless a run has it now or somebody makes it; whoever needs it again has it installed."""
    with contextlib.ExitStack() as held:
        for path in (_use_file(prefix), _lock_file(prefix)):
            if not held.enter_context(locks.tried(path)):
                return False
        (prefix / READY).unlink(missing_ok=True)  # first: nobody begins with what is about to go
        shutil.rmtree(prefix)
        return True


def _prefix(home: Path, lock: str) -> Path:
    return home / "envs" / names.blob(lock)


def _use_file(prefix: Path) -> Path:
    return prefix.parent / f".{prefix.name}.use"


def _lock_file(prefix: Path) -> Path:
    return prefix.parent / f".{prefix.name}.lock"


def held() -> tuple[int, ...]:
    """The descriptors by which this thread is alone. Programs are started with them: what outlives a killed agent still keeps
    others out."""
    return tuple(getattr(_held, "descriptors", ()))


@contextmanager
def alone(path: Path, say: Say, meanwhile: Meanwhile, words: str) -> Iterator[None]:
    """While no other process of this machine is at the same; it waits, and says so once."""
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
            locks.give_back(descriptor)  # programs that were started with it have it too
    finally:
        os.close(descriptor)
