"""Presents the files of a dataset as a folder, without downloading them first where possible.

Local files: links to them, nothing is copied. Remote files: a FUSE mount that downloads on read (`supervising`, `mount_process`).
Files are downloaded to the cache first and then linked where the machine has no FUSE, and when they must be complete to be read
well; cached files are linked too. `way` and `note` report which way was taken.
"""

import contextlib
import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from roost.data import blocks, supervising
from roost.data.addresses import Addresses, Again, Locate
from roost.data.cache import Cache
from roost.data.fetching import Meanwhile, Progress, check, fetch
from roost.data.supervising import NoMount, Supervisor, Tell
from roost.data.web import Web
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, DiskFull, InvalidInput

Changed = Callable[[str, str], None]
"""Receives the files that were changed through a mount's links, and why that was possible: `a.txt and 2 more were changed`,
`a mount of …`."""
Left = Callable[[Sequence[str]], None]
"""Receives the names of files that a script wrote into a mount's folder."""
_OWN_FILES = "a mount of files of this machine is the files themselves"
_CACHED = "a mount of what is in this node's cache is the cache's own files, fetched anew for the next run"
_LOOK_SECONDS, _LOOK_EVERY = 2.0, 256

HERE_ALREADY = "All of it was here already."
"""The note of a mount that needed no download."""
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z")


class Way(StrEnum):
    LINKS = "links"
    FUSE = "fuse"
    CACHE = "cache"


class Mount:
    """A dataset's files as a folder, until it is closed. Use it with `with`, or call `close`."""

    def __init__(self, folder: Path, items: Sequence[Item], way: Way, note: str, made: Path | None) -> None:
        self.folder = folder
        self.way = way
        self.note = note
        """Why it is not mounted although it could have been; empty when there is nothing to report."""
        self._single = items[0].name if len(items) == 1 else ""
        self._made = made
        self._supervisor: Supervisor | None = None
        self._linked: Sequence[tuple[Item, Path]] = ()
        self.at_change: Changed = lambda *_: None
        """Called on close when files were changed through its links."""
        self.at_left: Left = lambda _: None
        """Called on close when the folder holds files that are not part of the dataset."""
        self.at_end: list[Callable[[], None]] = []
        """Called after it is closed."""

    @property
    def path(self) -> Path:
        """The file itself for a dataset of one file, else the folder."""
        return self.folder / self._single if self._single else self.folder

    @property
    def mount_point(self) -> str:
        return str(self.folder)

    @property
    def pid(self) -> int | None:
        """The id of the process behind the mount, if there is one."""
        return self._supervisor.pid if self._supervisor else None

    def start(self) -> None:
        """Does nothing: the mount already exists."""

    def stop(self) -> None:
        self.close()

    def close(self) -> None:
        """Removes the mount; the files it refers to stay. May be called twice."""
        left: Sequence[str] = ()
        if self._supervisor:
            self._supervisor.close()
            self._supervisor = None
        elif self.folder.is_dir():
            left = _unlink_all(self.folder)
        if self._made:
            with contextlib.suppress(OSError):
                self._made.rmdir()
        linked, self._linked = self._linked, ()
        changed = list(_changed(linked))
        while self.at_end:
            self.at_end.pop()()
        if left and linked:  # the first time
            self.at_left(left)
        for own, why in ((True, _OWN_FILES), (False, _CACHED)):
            if found := [item.name for item in changed if bool(item.path) is own]:
                more = f" and {len(found) - 1} more were" if len(found) > 1 else " was"
                self.at_change(f"{found[0]}{more} changed", why)

    def __enter__(self) -> "Mount":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def mount(
    items: Sequence[Item],
    target: Path | None,
    cache: Cache,
    *,
    progress: Progress = lambda *_: None,
    meanwhile: Meanwhile = lambda: None,
    locate: Locate | None = None,
    again: Again | None = None,
    tell: Tell = lambda _: None,
    fuse: bool = True,
    web: Web | None = None,
) -> Mount:
    """Presents the files in `target`, a new or empty folder (a temporary one when None). `tell` is called, in any thread, for
    later read errors and for restarts of the mount's process."""
    check(items)
    with _making(target):
        made = None if target is not None and target.exists() else target
        if target is None:
            target = made = Path(tempfile.mkdtemp(prefix="roost-data-"))
        target.mkdir(parents=True, exist_ok=True)
        there = os.listdir(target)
    if there:
        raise Conflict(f"{target} is not empty, so nothing is mounted there.", hint="Give a new folder.")
    if all(item.path for item in items):
        return _linked(items, [Path(item.path) for item in items], Mount(target, items, Way.LINKS, "", made))
    remote = [item for item in items if not item.path]
    keys = [cache.key(item) for item in remote]
    if cache.has_all(keys) and len(cache.find(dict(zip(keys, remote, strict=True)))) == len(set(keys)):
        paths = [Path(item.path) if item.path else cache.place(cache.key(item)) for item in items]
        return _linked(items, paths, Mount(target, items, Way.CACHE, HERE_ALREADY, made))
    first = [item for item in remote if _must_be_whole(item)]
    reason = supervising.why_not() if fuse else "it was asked not to"
    if not reason and len(first) < len(remote):
        try:
            come = fetch(first, cache, None, progress, meanwhile, locate=locate, again=again, web=web)
            here = {item.name: path for item, path in zip(first, come, strict=True)}
            known = [_at(item, here.get(item.name)) for item in items]
            result = Mount(target, items, Way.FUSE, _said(first), made)
            result._supervisor = Supervisor(known, target, cache, Addresses(items, locate, again), tell)
        except NoMount as error:
            reason = str(error)
        else:
            return result
    paths = fetch(items, cache, None, progress, meanwhile, locate=locate, again=again, web=web)
    note = f"Not mounted but fetched: {reason}." if reason else _said(first)
    return _linked(items, paths, Mount(target, items, Way.CACHE, note, made))


@contextlib.contextmanager
def _making(target: Path | None) -> Iterator[None]:
    """Reports a folder that cannot be created or written as such; None means a temporary folder of Roost's own."""
    try:
        yield
    except OSError as error:
        where = target or error.filename or "a folder of its own (TMPDIR)"
        problem = f"Nothing can be mounted at {where}: {error.strerror or error}."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(problem, hint="Free some room there, or give a folder on another disk.") from None
        raise InvalidInput(problem, hint="Give a new folder, at a place that can be written.") from None


def _must_be_whole(item: Item) -> bool:
    """True for an archive, which is read in small scattered pieces, and for a file whose server reports no size or version."""
    return item.size is None or not item.version or item.name.lower().endswith(ARCHIVES)


def _said(first: Sequence[Item]) -> str:
    if not first:
        return ""
    others = f" and {len(first) - 1} more" if len(first) > 1 else ""
    why = "an archive" if first[0].name.lower().endswith(ARCHIVES) else "its server does not tell its size and version"
    return f"Fetched first, not by the block: {first[0].name}{others} ({why})."


def _at(item: Item, path: Path | None) -> Item:
    if path is None:
        return item
    return Item(name=item.name, path=str(path), size=path.stat().st_size, modified_at=item.modified_at)


def _linked(items: Sequence[Item], paths: Sequence[Path], made: Mount) -> Mount:
    root = str(made.folder)
    with _making(made.folder):
        for folder in sorted({os.path.dirname(item.name) for item in items if "/" in item.name}):
            os.makedirs(f"{root}/{folder}", exist_ok=True)
        for item, path in zip(items, paths, strict=True):
            os.symlink(path, f"{root}/{item.name}")
    made._linked = list(zip(items, paths, strict=True))
    return made


def _changed(linked: Sequence[tuple[Item, Path]]) -> Iterator[Item]:
    """The files whose size or time differs from the listing. Checks stop after a short time: on a network disk that may be
    few files."""
    until = time.monotonic() + _LOOK_SECONDS
    for number, (item, path) in enumerate(linked):
        if number % _LOOK_EVERY == 0 and time.monotonic() > until:
            return
        with contextlib.suppress(OSError):  # deleted or unreachable: not changed through a link
            seen = os.stat(path)
            if not (_as_listed(seen, item) if item.path else blocks.untouched(seen, item)):
                yield item


def _as_listed(seen: os.stat_result, item: Item) -> bool:
    return item.size in (None, seen.st_size) and (item.modified_at is None or seen.st_mtime == item.modified_at)


def _unlink_all(folder: Path) -> list[str]:
    """Removes the links and their folders; returns the names of files that a script put there, which stay."""
    left = []
    for root, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            place = os.path.join(root, name)
            with contextlib.suppress(OSError):
                os.unlink(place) if os.path.islink(place) else os.rmdir(place)
            if os.path.isfile(place):
                left.append(os.path.relpath(place, folder))
    return sorted(left)
