"""Archives of environments: keeps the files of a built environment, and lays them out for an installation without network.

Each file becomes a blob once; a manifest, recorded by the control plane, lists them. It is updated now and then while files are
stored, so that the next agent after a killed one can continue there.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.link import Link, persist
from roost.domain import codec, files
from roost.domain.environments import Archive
from roost.domain.errors import NotFound
from roost.environments import base
from roost.environments.archiving.base import KeptFiles
from roost.transport.client import path_of

KEPT = "kept"
"""The subfolder of the run's folder for kept files."""
_UNFINISHED = "Not all of it is kept yet."
_NOTED_SECONDS = 15.0
_PATIENCE_SECONDS = 30.0
"""How long to wait for a control plane that has a full disk or does not know the token."""
_TOLD_SECONDS = 2.0


@dataclass
class _Store:
    """Stores the files of one lock."""

    link: Link
    lock: str
    python: str
    say: base.Say
    entries: dict[str, files.Entry] = field(default_factory=dict)
    noted: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)

    def put(self, path: str, file: Path) -> None:
        ((blob, size),) = persist(lambda: self.link.carrier.carry([file]), seconds=_PATIENCE_SECONDS)
        self.entries[path] = files.Entry(path, size=size, content=blob)
        now = time.monotonic()
        if now - self.told > _TOLD_SECONDS:
            self.told = now
            self.say(f"Kept by now: {self.words}; the last is {path.rpartition('/')[2]}.")
        if now - self.noted > _NOTED_SECONDS:
            self.note([_UNFINISHED])
            self.noted = time.monotonic()

    def note(self, missing: list[str]) -> Archive:
        """Reports the stored files to the control plane."""

        def report() -> object:
            manifest = self.link.carrier.put(files.write_manifest(self.entries.values()))
            said = {"lock": self.lock, "manifest": manifest, "python": self.python, "missing": missing}
            return self.link.client.call("PUT", self.link.path("environment", "archive"), json=said)

        return codec.decode(Archive, persist(report, seconds=_PATIENCE_SECONDS))

    @property
    def words(self) -> str:
        sizes = {each.content: each.size for each in self.entries.values()}
        count = len(self.entries)
        return f"{count} file{'' if count == 1 else 's'}, {sum(sizes.values()) / 1e6:.1f} MB"


def keep(link: Link, name: str, lock: base.Lock, prefix: Path, builder: base.Builder, say: base.Say) -> Archive:
    """Keeps every file of a lock that is installed in that prefix. Unavailable files are logged and reported as missing."""
    store = _Store(link, name, lock.python if lock.kind == base.PIP else "", say, _known(link, name))
    had = store.words if store.entries else ""
    say(f"Keeping the files of the lock {name[:12]}{f': {had} are kept already' if had else ''}.")
    kept = KeptFiles(set(store.entries), store.put)
    builder.archive(lock, prefix, kept)
    lacks = [f"{what}: {reason}" for what, reason in sorted(kept.missing.items())]
    for line in lacks:
        say(f"Not kept: {line}")
    archive = store.note(lacks)
    say(f"Kept for installing without a network: {store.words}." + (" It is not complete." if lacks else ""))
    return archive


def source(link: Link, lock: str, folder: Folder, meanwhile: base.Meanwhile) -> Callable[[], Path]:
    """A function that lays out a lock's kept files in the run's folder, at its first call."""

    @functools.cache
    def lay_out() -> Path:
        archive = codec.decode(Archive, link.client.call("GET", path_of("archives", lock)))
        place = folder.root / KEPT
        place.mkdir(exist_ok=True)
        link.carrier.lay_out(archive.manifest, place, meanwhile)
        return place

    return lay_out


def _known(link: Link, lock: str) -> dict[str, files.Entry]:
    """The files that are kept already and whose blobs still exist, by path."""
    try:
        archive = codec.decode(Archive, link.client.call("GET", path_of("archives", lock)))
        entries = files.read_manifest(link.carrier.get(archive.manifest))
    except NotFound:
        return {}
    asked = {"names": [each.content for each in entries]}
    lost = set(link.client.call("POST", "/api/blobs/missing", json=asked)["missing"]) if entries else set()
    return {each.path: each for each in entries if each.content not in lost}
