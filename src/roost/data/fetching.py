"""Downloads the files of a dataset to this machine: many at once over a few connections, large ones in ranges, once for all runs.

`fetch` fills the node's cache and returns the paths in it; with a `target` it makes copies there, which belong to the caller.
Without a cache the files go directly to the target, and the next attempt continues from the parts that a broken one left there.
"""

import os
import secrets
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from roost.blobs.copying import copy
from roost.data import blocks
from roost.data.addresses import Addresses, Again, Locate
from roost.data.batches import AT_ONCE, Carter, packed
from roost.data.blocks import BLOCK, Part
from roost.data.cache import Cache
from roost.data.small_files import SMALL, SmallFiles, Wanted
from roost.data.transfers import NO_ROOM, Transfer, no_room
from roost.data.web import Stopped, Web
from roost.data.web_connections import is_near
from roost.domain import names
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull, InvalidInput, NotFound
from roost.machine import locks, umasks
from roost.transport.guarded_files import held

Progress = Callable[[int, int], None]
"""Called in the caller's thread with (bytes so far, bytes in all); cached files count as downloaded."""
Deed = Callable[[], object]
Meanwhile = Callable[[], None]
"""Called repeatedly in the caller's thread; an exception from it ends the download."""

CONNECTIONS = 6
_STRETCH = 16 * BLOCK
_LOOK_SECONDS = 0.1
_END_SECONDS = 2.0
"""How long to wait for threads whose work is no longer needed; they end by themselves at their next check."""
_CROWDS, _CROWDS_NEAR, _A_CROWD = 4, 1, 32
"""Without network delay a second thread only adds cost: the threads would compete for the interpreter."""
_OWN = ".roost-download"
_ELSEWHERE = "Give a folder, there or yet to be made, that you may write to."


def fetch(
    items: Sequence[Item],
    cache: Cache | None,
    target: Path | None = None,
    progress: Progress = lambda *_: None,
    meanwhile: Meanwhile = lambda: None,
    *,
    locate: Locate | None = None,
    again: Again | None = None,
    web: Web | None = None,
    links: bool = True,
    say: Callable[[str], object] = lambda _: None,
) -> list[Path]:
    """Returns the files in the order of the items: in the cache (read-only), or in `target` under their names. All files are
    complete, or an error names the file and the reason. `locate` finds the control plane for relayed items; `again` gets
    newly signed addresses. Without `links`, no link is followed below `target` or on the way to it (then a full path):
    another user could create them. `say` receives the reason for each wait."""
    check(items)
    if cache is None:
        if target is None:
            raise InvalidInput("Files are fetched into a cache or a folder; neither is given.")
        transfer = Transfer(web or Web(), Addresses(items, locate, again))
        with _alone(target, say, meanwhile):
            return _straight(items, target, progress, meanwhile, transfer)
    transfer = Transfer(web or Web(), Addresses(items, locate, again))
    paths = _Work(items, cache, progress, meanwhile, transfer).run()
    if target is None:
        return paths
    with no_room(target), _into(target):
        return [_copy(path, target / item.name, meanwhile, links) for item, path in zip(items, paths, strict=True)]


def check(items: Sequence[Item]) -> None:
    """Raises InvalidInput for names that leave their folder or occur twice, NotFound for a local file that no longer exists."""
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            raise InvalidInput(f"Two files of the dataset would be {item.name!r}.")
        if names.path(item.name) != item.name:
            raise InvalidInput(f"The name {item.name!r} of a file is not a plain path.")
        seen.add(item.name)
        if item.path and not os.path.isfile(item.path):
            raise NotFound(f"{item.path} is not there any more.", hint="It was when the dataset was listed.")


@contextmanager
def _alone(target: Path, say: Callable[[str], object], meanwhile: Meanwhile) -> Iterator[None]:
    """Lets one download at a time write directly into a folder: concurrent ones would share a temporary folder, and each
    removes it."""
    with _into(target):
        file = _claim(target, say, meanwhile)
    try:
        yield
    finally:
        os.close(file)


def _claim(target: Path, say: Callable[[str], object], meanwhile: Meanwhile) -> int:
    own, waits = target / _OWN, False
    while True:
        umasks.make_folder(own, private=False)
        try:
            file = os.open(own / "alone", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the previous holder is removing it
            continue
        try:
            is_alone = locks.take(file)
            if is_alone and blocks.is_at(str(own / "alone"), file):
                return file
            if not is_alone:
                if not waits:
                    say(f"Another download into {target} is going on; this one waits for it.")
                waits = True
                meanwhile()
                time.sleep(_LOOK_SECONDS)
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _straight(
    items: Sequence[Item], target: Path, progress: Progress, meanwhile: Meanwhile, transfer: Transfer
) -> list[Path]:
    """Downloads into the target itself, with a temporary cache there from which the files are moved out."""
    with _into(target):
        own = Cache(target / _OWN, 2**62)
    try:
        paths = _Work(items, own, progress, meanwhile, transfer).run()
        last = {path: item.name for item, path in zip(items, paths, strict=True)}
        with no_room(target), _into(target):
            for item, path in zip(items, paths, strict=True):
                place = target / item.name
                if item.path or last[path] != item.name:
                    _copy(path, place, meanwhile)
                else:
                    umasks.make_folder(place.parent, private=False)
                    path.chmod(0o644)
                    if blocks.time_of(item.modified_at) == blocks.UNDATED:
                        os.utime(path)
                    path.replace(place)
    except DiskFull:
        need, free = sum(item.size or 0 for item in items), shutil.disk_usage(target).free
        raise DiskFull(
            f"The disk of {target} is full: the files take {need / 10**6:,.1f} MB, {free / 10**6:,.1f} MB are free.",
            hint="Free some room there, or give a folder on another disk. What has come is kept for the next try.",
        ) from None
    finally:
        own.close()
    shutil.rmtree(target / _OWN, ignore_errors=True)
    return [target / item.name for item in items]


@contextmanager
def _into(target: Path) -> Iterator[None]:
    """Reports a folder that cannot be written as such; a full disk is handled elsewhere."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        where = error.filename2 or error.filename or target
        if target.exists() and not target.is_dir():
            raise InvalidInput(f"{target} is a file; data is downloaded into a folder.", hint=_ELSEWHERE) from None
        raise InvalidInput(f"{where} cannot be written: {error.strerror or error}.", hint=_ELSEWHERE) from None


class _Work:
    """The files of one fetch, and the threads that download them."""

    def __init__(
        self, items: Sequence[Item], cache: Cache, progress: Progress, meanwhile: Meanwhile, transfer: Transfer
    ) -> None:
        self._items = items
        self._cache = cache
        self._progress = progress
        self._meanwhile = meanwhile
        self._transfer = transfer
        transfer.came = self.came
        self._deeds: deque[Deed] = deque()
        self._open = 0
        self._over = False
        self._news = threading.Condition()
        self._bytes = 0
        self._problem: BaseException | None = None
        self.parts: list[Part] = []

    def run(self) -> list[Path]:
        remote = [item for item in self._items if not item.path]
        keys = {item.name: self._cache.key(item) for item in remote}
        wanted = {keys[item.name]: item for item in remote}
        found = self._cache.find(wanted)
        missing = {key: item for key, item in wanted.items() if key not in found}
        total = sum(item.size or 0 for item in remote)
        self._bytes = total - sum(item.size or 0 for item in missing.values())
        if missing:
            self._cache.make_room(sum(item.size or 0 for item in missing.values()))
            self._await(total, self._share_out(missing))
        self._progress(total, total)
        return [Path(item.path) if item.path else self._cache.place(keys[item.name]) for item in self._items]

    def _share_out(self, missing: dict[str, Item]) -> int:
        """Distributes the files and returns the number of threads. Small relayed files go in parcels, other small ones to one
        or several `SmallFiles` (several where the network is slow); each large file is a task of its own."""
        small, relayed = deque[Wanted](), deque[Wanted]()
        for key, item in missing.items():
            if item.size and item.size <= SMALL:
                (relayed if item.relayed else small).append((item, self._cache.where(key)))
            else:
                self.add(partial(self._begin, key, item))
        large = len(missing) - len(small) - len(relayed)
        threads = self._send_for(small) + self._send_for_parcels(relayed)
        return threads + min(CONNECTIONS, max(1, 2 * large))

    def _send_for(self, small: deque[Wanted]) -> int:
        most = _CROWDS_NEAR if small and is_near(small[0][0].url) else _CROWDS
        crowds = min(most, -(-len(small) // _A_CROWD))
        for _ in range(crowds):
            self.add(SmallFiles(self._transfer, small, self._otherwise).run, first=True)
        return crowds

    def _send_for_parcels(self, relayed: deque[Wanted]) -> int:
        parcels = deque(packed(relayed))
        carters = min(AT_ONCE, len(parcels))
        for _ in range(carters):
            self.add(Carter(self._transfer, parcels, self._otherwise).run, first=True)
        return carters

    def _otherwise(self, item: Item, place: str) -> None:
        self.add(partial(self._transfer.whole, item, Path(place)))

    def _begin(self, key: str, item: Item) -> None:
        place = self._cache.place(key)
        if item.size is None or item.size <= BLOCK or not item.version:
            self._transfer.whole(item, place)
        elif not blocks.is_whole(place, item):
            _Large(self, self._transfer, item, place).begin()

    def add(self, deed: Deed, *, first: bool = False) -> None:
        with self._news:
            self._open += 1
            (self._deeds.appendleft if first else self._deeds.append)(deed)
            self._news.notify()

    def came(self, count: int) -> None:
        self._bytes += count  # only for progress, so a lost update does no harm

    def _await(self, total: int, threads: int) -> None:
        """Runs the threads, reports progress, and stops the threads when the download is no longer wanted."""
        workers = [threading.Thread(target=self._serve, name=f"roost-fetch-{n}", daemon=True) for n in range(threads)]
        for worker in workers:
            worker.start()
        try:
            while True:
                with self._news:
                    if not self._open or self._problem:
                        break
                    self._news.wait(_LOOK_SECONDS)
                self._meanwhile()
                self._progress(max(0, min(self._bytes, total)), total)
        except BaseException:
            self._transfer.web.stop()
            raise
        finally:
            if self._problem:
                self._transfer.web.stop()
            with self._news:
                self._over = True
                self._deeds.clear()
                self._news.notify_all()
            until = time.monotonic() + _END_SECONDS
            for worker in workers:
                worker.join(max(0.0, until - time.monotonic()) if self._transfer.web.stopping else None)
            if not any(worker.is_alive() for worker in workers):  # a thread that is still connecting may hold a part
                for part in self.parts:
                    part.close()
            self._transfer.web.close()
        if self._problem:
            raise self._problem

    def _serve(self) -> None:
        while True:
            with self._news:
                while not self._deeds and not self._over:
                    self._news.wait()
                if self._over:
                    return
                deed = self._deeds.popleft()
            try:
                deed()
            except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
                if not isinstance(error, Stopped) or not self._problem:
                    self._problem = self._problem or error
            with self._news:
                self._open -= 1
                if not self._open or self._problem:
                    self._news.notify_all()


class _Large:
    """A large file. The response to its first range shows whether the server supports ranges; the others follow over all
    connections."""

    def __init__(self, work: _Work, transfer: Transfer, item: Item, place: Path) -> None:
        self._work, self._transfer, self._item, self._place = work, transfer, item, place
        self._part = Part(place, item.size or 0)
        self._left = 0
        self._lock = threading.Lock()
        work.parts.append(self._part)
        work.came(self._part.present)

    def begin(self) -> None:
        step = _STRETCH // BLOCK
        stretches = [(first, min(first + step, self._part.count)) for first in range(0, self._part.count, step)]
        self._left = len(stretches)
        ranged = self._bring(*stretches[0])
        for first, last in reversed(stretches[1:]):
            if ranged:
                self._work.add(partial(self._bring, first, last), first=True)
            else:
                self._bring(first, last)

    def _bring(self, first: int, last: int) -> bool:
        ranged = self._transfer.stretch(self._item, self._part, first, last)
        with self._lock:
            self._left -= 1
            if self._left:
                return ranged
        while not self._part.finish(self._place, self._item.modified_at):  # a block was evicted meanwhile
            self._transfer.stretch(self._item, self._part, 0, self._part.count)
        return ranged


def _copy(source: Path, place: Path, meanwhile: Meanwhile, links: bool = True) -> Path:
    """Makes a separate copy, complete or not at all. Two callers may make the same copy at once."""
    if links:
        umasks.make_folder(place.parent, private=False)
    try:
        with nullcontext(place.parent) if links else held(place.parent) as folder:
            _copy_to(folder, source, place.name, meanwhile)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from None
    return place


def _copy_to(folder: Path, source: Path, name: str, meanwhile: Meanwhile) -> None:
    part = folder / f"{names.PART}{secrets.token_hex(8)}"
    try:
        with open(source, "rb") as reading, open(part, "xb") as writing:
            umasks.open_up(writing.fileno(), 0o666)
            seen = os.fstat(reading.fileno())
            copy(reading.fileno(), writing.fileno(), seen.st_size, lambda _: meanwhile())
            if seen.st_mtime != blocks.UNDATED:
                os.utime(writing.fileno(), (seen.st_atime, seen.st_mtime))
        part.replace(folder / name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
