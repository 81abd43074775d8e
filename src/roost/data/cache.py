"""The node's cache of data, `ROOST_HOME/cache/data`: files that runs downloaded, stored by source and version for later runs.

`ab/KEY` is a whole file; `KEY.part` and `KEY.map` are a partial one (`blocks`). KEY is made of the source, its version and its
size, so a changed file gets a new key; a file that was changed here, through a mount's link, is not used again. The size is
limited: the least recently used files are evicted first, but never a file that a living process was given. Such files are listed
in `holds/`, in a file that stays locked while that process lives.
"""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roost.blobs.copying import write_all
from roost.data import blocks
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull, InvalidInput
from roost.machine import files, locks, umasks

VARIABLE = "ROOST_DATA_CACHE_GB"
DEFAULT_LIMIT = 100 * 1000**3
_SPARE = 64 * 1024 * 1024
"""Bytes that stay free on the disk, regardless of the limit."""
_LOOK_EVERY = 256 * 1024 * 1024
_USED_AGAIN_SECONDS = 600.0  # a use this soon after the last one is not recorded


class Cache:
    """`limit` is in bytes, None for the setting's. Thread-safe; after a fork each process makes its own. Files that it
    returned stay until it is closed or its process ends."""

    def __init__(self, home: Path, limit: int | None = None) -> None:
        self.home = home
        self.limit = limit_of(os.environ) if limit is None else limit
        self.root = home / "cache" / "data"
        self._root = str(self.root)
        umasks.make_folder(self.root / "holds", private=True)
        self._nonce = secrets.token_hex(8)
        self._hold = -1
        self._holding = threading.Lock()
        self._passing: set[str] = set()
        self._filled = 0

    @classmethod
    def of_node(cls, home: Path) -> "Cache":
        """The cache in ROOST_HOME. Raises InvalidInput or DiskFull, with a hint, when it cannot be written."""
        try:
            made = cls(home)
            with made._locked(shared=True):  # an existing folder may still not be writable
                return made
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(
                    f"The disk of the data cache {home / 'cache' / 'data'} is full.",
                    hint="Free some room there, or set ROOST_HOME to a folder on a larger disk.",
                ) from None
            where = error.filename or home
            raise InvalidInput(
                f"The data cache in ROOST_HOME, {home}, cannot be written: {error.strerror or error}: {where}.",
                hint="Set ROOST_HOME to a folder that can be written.",
            ) from None

    def key(self, item: Item) -> str:
        """The key of an item. An item without a version gets a key for this cache object only, and is removed with it."""
        version = item.version
        text = f"{item.source or item.url.partition('?')[0]}\0{version or self._nonce}\0{item.size}"
        key = hashlib.sha256(text.encode()).hexdigest()
        if not version:
            self._passing.add(key)
        return key

    def place(self, key: str) -> Path:
        """The path of the key's file, existing or future."""
        return Path(self.where(key))

    def where(self, key: str) -> str:
        """The same as a string, for callers with many keys."""
        return f"{self._root}/{key[:2]}/{key}"

    def find(self, wanted: Mapping[str, Item]) -> set[str]:
        """The keys whose files are here whole. All wanted keys are held from now on, also those still to be downloaded."""
        self._hold_all(wanted)
        found, now = set(), time.time()
        for key, item in wanted.items():
            place = self.where(key)
            try:
                seen = os.stat(place)
            except FileNotFoundError:
                continue
            if not blocks.untouched(seen, item):
                continue
            if now - seen.st_atime > _USED_AGAIN_SECONDS:
                os.utime(place, ns=(int(now * 1e9), seen.st_mtime_ns))
            found.add(key)
        return found

    def has_all(self, keys: Sequence[str]) -> bool:
        """True when all files seem to be here. Holds nothing; `find` checks more."""
        return all(os.access(self.where(key), os.F_OK) for key in keys)

    def make_room(self, need: int) -> None:
        """Makes room for this many more bytes; raises DiskFull when that is impossible."""
        if need > self.limit:
            raise DiskFull(
                f"{_gb(need)} of data do not fit into the cache of {_gb(self.limit)} in {self.root}.",
                hint=f"Raise the limit, {VARIABLE}, or mount the data: what is read then is kept by the block.",
            )
        with self._locked():
            files = list(self._walk())
            used = sum(file.room for file in files)
            free = self._free()
            excess = max(used + need - self.limit, need - free)
            if excess > 0:
                excess -= self._evict(files, excess)
        if excess > 0 and need > (free := self._free()):
            raise DiskFull(
                f"The disk of the data cache {self.root} is full: {_gb(need)} are needed, {_gb(max(0, free))} can be had.",
                hint="Free some room there, or set ROOST_HOME to a folder on a larger disk.",
            )
        if excess > 0:
            raise DiskFull(
                f"The data cache {self.root} is full: {_gb(need)} are needed, and what is in it is in use.",
                hint=f"Raise its limit, {VARIABLE}, of {_gb(self.limit)}; or wait for other runs to end.",
            )

    def _free(self) -> int:
        """Bytes that may still be used. On a small disk, fewer are reserved."""
        disk = shutil.disk_usage(self.root)
        return disk.free - min(_SPARE, disk.total // 20)

    def filled(self, count: int) -> None:
        """Counts bytes that a mount downloaded, and makes room from time to time."""
        self._filled += count
        step = min(_LOOK_EVERY, self.limit // 8)
        if self._filled >= step:
            self._filled = 0
            with contextlib.suppress(DiskFull):  # all files are in use: exceed the limit a little for a while
                self.make_room(step)

    def remember(self, item: Item) -> None:
        """Stores the size and version of an address, for when its server is unavailable."""
        facts = json.dumps({"size": item.size, "etag": item.etag, "modified_at": item.modified_at})
        path = self._facts(item.source)
        with contextlib.suppress(FileNotFoundError):
            if path.read_text() == facts:
                return
        umasks.make_folder(path.parent, private=True)
        files.write(path, facts)

    def recall(self, item: Item) -> Item | None:
        """The item with the stored values; None when there are none or the file is no longer here."""
        try:
            facts = json.loads(self._facts(item.source).read_text())
            known = replace(item, size=facts["size"], etag=facts["etag"], modified_at=facts["modified_at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return known if known.version and self.find({self.key(known): known}) else None

    def close(self) -> None:
        """Releases all held files. May be called twice."""
        for key in self._passing:
            for suffix in ("", blocks.DATA, blocks.MAP):
                Path(f"{self.place(key)}{suffix}").unlink(missing_ok=True)
        self._passing.clear()
        if self._hold >= 0:
            (self.root / "holds" / self._nonce).unlink(missing_ok=True)
            os.close(self._hold)
            self._hold = -1

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _facts(self, source: str) -> Path:
        return self.root / "facts" / hashlib.sha256(source.encode()).hexdigest()

    def _hold_all(self, keys: Iterable[str]) -> None:
        # One thread at a time: a second one that opened the same file would wait for the first one's lock for ever.
        with self._locked(shared=True), self._holding:
            if self._hold < 0:
                path = self.root / "holds" / self._nonce
                self._hold = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                locks.take(self._hold, wait=True)
            write_all(self._hold, "".join(f"{key}\n" for key in keys).encode())

    @contextlib.contextmanager
    def _locked(self, *, shared: bool = False) -> Iterator[None]:
        """Removal takes the lock exclusively, so no file is given out meanwhile."""
        with locks.held(self.root / "lock", shared=shared):
            yield

    def _walk(self) -> "Iterator[_Kept]":
        for shelf in os.scandir(self.root):
            if len(shelf.name) != 2 or not shelf.is_dir(follow_symlinks=False):
                continue
            for entry in os.scandir(shelf.path):
                with contextlib.suppress(FileNotFoundError):
                    seen = entry.stat(follow_symlinks=False)
                    yield _Kept(Path(entry.path), seen.st_blocks * 512, seen.st_atime)

    def _evict(self, files: "list[_Kept]", excess: int) -> int:
        """Removes the least recently used files until this many bytes are freed; returns the bytes freed."""
        held, freed = self._held(), 0
        busy: list[Path] = []
        for kept in sorted(files, key=lambda file: file.used_at):
            if freed >= excess:
                return freed
            if kept.path.suffix == blocks.MAP or kept.key in held:
                continue
            if kept.path.suffix != blocks.DATA:
                kept.path.unlink(missing_ok=True)
            elif not blocks.remove(kept.path.with_suffix("")):
                busy.append(kept.path.with_suffix(""))
                continue
            freed += kept.room
        return freed + _evict_blocks(busy, excess - freed)

    def _held(self) -> set[str]:
        held: set[str] = set()
        for entry in os.scandir(self.root / "holds"):
            with contextlib.suppress(FileNotFoundError), open(entry.path, "rb") as file:
                if entry.name != self._nonce and locks.take(file.fileno()):  # its process is gone
                    os.unlink(entry.path)
                    continue
                held.update(file.read().decode().split())
        return held


@dataclass(frozen=True)
class _Kept:
    path: Path
    room: int
    used_at: float

    @property
    def key(self) -> str:
        return self.path.name.partition(".")[0]


def limit_of(environment: Mapping[str, str]) -> int:
    """The limit from the environment, in bytes."""
    told = environment.get(VARIABLE, "")
    try:
        limit = int(float(told) * 1000**3) if told else DEFAULT_LIMIT
    except ValueError:
        limit = -1
    if limit <= 0:
        raise InvalidInput(f"{VARIABLE} must be a number of gigabytes greater than 0, got {told!r}.")
    return limit


def _evict_blocks(places: Iterable[Path], excess: int) -> int:
    """Removes blocks from parts in use, the least recently used first; returns the bytes freed."""
    found = [(minutes, place, block) for place in places for block, minutes in blocks.stale(place)]
    freed = 0
    for _, place, block in sorted(found, key=lambda each: -each[0]):
        if freed >= excess:
            break
        freed += blocks.take_away(place, block)
    return freed


def _gb(count: int) -> str:
    return f"{count / 1000**3:.3g} GB" if count >= 10**7 else f"{count / 1000**2:.3g} MB"
