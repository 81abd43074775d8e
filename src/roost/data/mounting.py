"""Lays the files of a dataset out as a folder without fetching them first, where that can be.

Local files: links to them, nothing is copied. Others: a FUSE mount that brings what is read (`supervising`, `mount_process`).
Where the machine has no FUSE, and for what must be here whole to be read well, the cache: fetched first, then linked; and so is
what is in the cache already. `way` and `note` say which it was.
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
"""Told what was changed through the links of a mount, and why it could be: `a.txt and 2 more were changed`, `a mount of …`."""
Left = Callable[[Sequence[str]], None]
"""Told the names of what a script wrote into the folder of a mount."""
_OWN_FILES = "a mount of files of this machine is the files themselves"
_CACHED = "a mount of what is in this node's cache is the cache's own files, fetched anew for the next run"
_LOOK_SECONDS, _LOOK_EVERY = 2.0, 256

HERE_ALREADY = "All of it was here already."
"""The note of a mount for which nothing had to be fetched."""
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
        """Why it is not mounted though it could have been; empty when there is nothing to say."""
        self._single = items[0].name if len(items) == 1 else ""
        self._made = made
        self._supervisor: Supervisor | None = None
        self._linked: Sequence[tuple[Item, Path]] = ()
        self.at_change: Changed = lambda *_: None
        """Called when it is closed and files were changed through its links."""
        self.at_left: Left = lambda _: None
        """Called when it is closed and there are files among its links that are none of it."""
        self.at_end: list[Callable[[], None]] = []
        """Called once it is closed."""

    @property
    def path(self) -> Path:
        """Of one file that file, of many the folder."""
        return self.folder / self._single if self._single else self.folder

    @property
    def mount_point(self) -> str:
        return str(self.folder)

    @property
    def pid(self) -> int | None:
        """Of the process behind it, if there is one."""
        return self._supervisor.pid if self._supervisor else None

    def start(self) -> None:
        """It is there already."""

    def stop(self) -> None:
        self.close()

    def close(self) -> None:
        """Takes it away; what it refers to stays. May be called twice."""
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
    """Lays the files out in `target`, a new or empty folder (one of its own when None). `tell` hears, in any thread, what could
    not be read later on, and when the process behind a mount was started again."""
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
    """A folder that cannot be made or written is told as such; None is one of our own for what is temporary."""
    try:
        yield
    except OSError as error:
        where = target or error.filename or "a folder of its own (TMPDIR)"
        problem = f"Nothing can be mounted at {where}: {error.strerror or error}."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(problem, hint="Free some room there, or give a folder on another disk.") from None
        raise InvalidInput(problem, hint="Give a new folder, at a place that can be written.") from None


def _must_be_whole(item: Item) -> bool:
    """An archive, which is read here and there in small pieces; a file whose size or version its server does not tell."""
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
    """Those whose size or time is not what it was when they were listed. A look at each, and no more of them than a moment
    allows: on a disk across a network that can be few."""
    until = time.monotonic() + _LOOK_SECONDS
    for number, (item, path) in enumerate(linked):
        if number % _LOOK_EVERY == 0 and time.monotonic() > until:
            return
        with contextlib.suppress(OSError):  # gone, or not to be reached any more: it was not changed by a link
            seen = os.stat(path)
            if not (_as_listed(seen, item) if item.path else blocks.untouched(seen, item)):
                yield item


def _as_listed(seen: os.stat_result, item: Item) -> bool:
    return item.size in (None, seen.st_size) and (item.modified_at is None or seen.st_mtime == item.modified_at)


def _unlink_all(folder: Path) -> list[str]:
    """Links and the folders they are in; what a script put there itself stays, and is named."""
    left = []
    for root, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            place = os.path.join(root, name)
            with contextlib.suppress(OSError):
                os.unlink(place) if os.path.islink(place) else os.rmdir(place)
            if os.path.isfile(place):
                left.append(os.path.relpath(place, folder))
    return sorted(left)
