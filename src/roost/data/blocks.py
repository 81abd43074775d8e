"""A file that is here in part: a sparse file, and a map with a byte for each block of 4 MiB that says when it was last used, 0
for a block that is not here. Downloads fill it in long stretches, mounts block by block, and both go on from what the other left.

A block's bytes are written before its byte in the map, so that a killed process leaves no block that is not whole. Who reads a
block holds its byte in the map shared; who fills blocks claims them; who takes one away holds both alone. Opening, finishing and
taking away pass one gate, so that a map is only ever used with its own file. The kernel ends all of these with the process.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from roost.domain.datastores import Item
from roost.machine import locks, umasks

BLOCK = 4 * 1024 * 1024
DATA, MAP = ".part", ".map"
_FLOCK = struct.Struct("hhqqi4x")
_WAIT = 0.02
_CLAIMS, _GATE = 1 << 40, 1 << 41  # places in the map, far behind its end, that stand for something: locks only
_PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
_LOCKS = sys.platform == "linux"
UNDATED = 1_000_000_001.0
"""The time that a whole file has whose server tells none: whoever writes to it gives it another."""
_SAME_TIME = 1.0
"""Seconds that a time may lose on its way to the disk and back: some keep whole ones."""
_WRITTEN = 2.0
_libc = ctypes.CDLL(None, use_errno=True)


class Part:
    """`place` without a suffix is where the whole file will be. Any number of processes and threads may have one open."""

    def __init__(self, place: Path, size: int) -> None:
        self.size = size
        self.count = -(-size // BLOCK)
        self._data_path, self._map_path = f"{place}{DATA}", f"{place}{MAP}"
        self._data = self._map_file = -1
        self._lock = threading.Lock()
        self._readers: dict[int, int] = {}
        while not self._opened():
            pass

    def _opened(self) -> bool:
        """False when the file was finished or taken away before we had its map: then there is another."""
        self._data = open_held(self._data_path)
        fits = False
        try:
            self._map_file = _open(self._map_path)
            with self._gate():
                if is_at(self._data_path, self._data) and is_at(self._map_path, self._map_file) and self._fit():
                    self._map = mmap.mmap(self._map_file, self.count)
                    fits = True
        finally:
            if not fits:
                self._close_files()
        return fits

    def _fit(self) -> bool:
        """Gives both their size, unless the map is that of a file which is gone: who finished it was killed before the end."""
        if not os.fstat(self._data).st_size and os.fstat(self._map_file).st_size:
            os.unlink(self._map_path)
            return False
        _reserve(self._map_file, self.count)
        os.ftruncate(self._data, self.size)
        return True

    def has(self, block: int) -> bool:
        return self._map[block] != 0

    def missing(self, first: int, last: int) -> tuple[int, int] | None:
        """The first stretch of blocks from `first` up to, not with, `last` that are not here."""
        start = self._map.find(b"\0", first, last)
        if start < 0:
            return None
        end = next((block for block in range(start, last) if self._map[block]), last)
        return start, end

    @property
    def whole(self) -> bool:
        return self._map.find(b"\0") < 0

    @property
    def present(self) -> int:
        """Bytes that are here."""
        return min(self.size, (self.count - bytes(self._map).count(b"\0")) * BLOCK)

    @contextlib.contextmanager
    def filling(self, first: int, last: int, waiting: Callable[[], None] = lambda: None) -> "Iterator[Claim]":
        """The only one who fills these blocks, meanwhile. Those that have come can be read."""
        with self._map_again() as file:
            while not _lock(file, fcntl.F_WRLCK, _CLAIMS + first, last - first):
                waiting()
                time.sleep(_WAIT)
            yield Claim(self, file, range(first, last))

    def comes(self, block: int) -> bool:
        """Whether another brings this block: waits for it, as long as somebody is at it."""
        with self._map_again() as file:
            while not self.has(block):
                if _lock(file, fcntl.F_WRLCK, _CLAIMS + block, 1):
                    return False
                time.sleep(_WAIT)
        return True

    def write(self, view: memoryview, offset: int) -> None:
        while view:
            count = os.pwrite(self._data, view, offset)
            view, offset = view[count:], offset + count

    def mark(self, block: int) -> None:
        """It is whole now."""
        self._map[block] = _now()

    def read(self, offset: int, size: int) -> bytes | None:
        """Bytes that lie within one block; None when it is not here."""
        block = offset // BLOCK
        with self._reading(block):
            if not self._map[block]:
                return None
            if self._map[block] != (now := _now()):
                self._map[block] = now
            return os.pread(self._data, size, offset)

    def finish(self, place: Path, modified_at: float | None) -> bool:
        """It becomes the whole file; False when a block of it was taken away before."""
        with self._gate():
            if not is_at(self._data_path, self._data):
                return True  # another was faster
            if not self.whole:
                return False
            seal(self._data, modified_at)
            os.rename(self._data_path, place)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._map_path)
        return True

    def close(self) -> None:
        self._map.close()
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._data, self._map_file):
            if file >= 0:
                os.close(file)
        self._data = self._map_file = -1

    @contextlib.contextmanager
    def _reading(self, block: int) -> Iterator[None]:
        """Holds the block's byte shared, once for all threads of this process."""
        while not self._begin_reading(block):
            time.sleep(_WAIT / 10)  # being taken away, which does not last
        try:
            yield
        finally:
            with self._lock:
                self._readers[block] -= 1
                if not self._readers[block]:
                    del self._readers[block]
                    _lock(self._map_file, fcntl.F_UNLCK, block, 1)

    def _begin_reading(self, block: int) -> bool:
        with self._lock:
            count = self._readers.get(block, 0)
            if not count and not _lock(self._map_file, fcntl.F_RDLCK, block, 1):
                return False
            self._readers[block] = count + 1
            return True

    @contextlib.contextmanager
    def _gate(self) -> Iterator[None]:
        while not _lock(self._map_file, fcntl.F_WRLCK, _GATE, 1):
            time.sleep(_WAIT / 10)
        try:
            yield
        finally:
            _lock(self._map_file, fcntl.F_UNLCK, _GATE, 1)

    @contextlib.contextmanager
    def _map_again(self) -> Iterator[int]:
        """This map, also when another is in its place, opened once more: for locks that end with it."""
        file = (
            os.open(f"/proc/self/fd/{self._map_file}", os.O_RDWR | os.O_CLOEXEC) if _LOCKS else os.dup(self._map_file)
        )
        try:
            yield file
        finally:
            os.close(file)


class Claim:
    """Which blocks somebody may fill: those that were asked for, and others that come along with them, one at a time. A block
    that is not claimed is not written to: half of it could be taken away unseen."""

    def __init__(self, part: Part, file: int, blocks: range) -> None:
        self._part, self._file, self._blocks = part, file, blocks

    def takes(self, block: int) -> bool:
        """Whether this block is to be written now: it is not here, and nobody else is at it."""
        if block in self._blocks:
            return not self._part.has(block)
        if not _lock(self._file, fcntl.F_WRLCK, _CLAIMS + block, 1):
            return False
        if self._part.has(block):
            self._let_go(block)
            return False
        return True

    def done(self, block: int) -> None:
        """It is whole now."""
        self._part.mark(block)
        if block not in self._blocks:
            self._let_go(block)

    def _let_go(self, block: int) -> None:
        _lock(self._file, fcntl.F_UNLCK, _CLAIMS + block, 1)


def stale(place: Path) -> Iterator[tuple[int, int]]:
    """Blocks of a part, each with the minutes since it was last used."""
    try:
        marks = Path(f"{place}{MAP}").read_bytes()
    except FileNotFoundError:
        return
    now = _now()
    for block, mark in enumerate(marks):
        if mark:
            yield block, (now - mark) % 255


def take_away(place: Path, block: int) -> int:
    """Gives a block's room back, unless somebody uses it; how many bytes."""
    if not _LOCKS:
        return 0
    try:
        marks = os.open(f"{place}{MAP}", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        alone = all(_lock(marks, fcntl.F_WRLCK, at, 1) for at in (_GATE, _CLAIMS + block, block))
        if not alone or not is_at(f"{place}{MAP}", marks):
            return 0
        os.pwrite(marks, b"\0", block)
        data = os.open(f"{place}{DATA}", os.O_RDWR | os.O_CLOEXEC)
        try:
            code = _libc.fallocate(
                ctypes.c_int(data), ctypes.c_int(_PUNCH), ctypes.c_int64(block * BLOCK), ctypes.c_int64(BLOCK)
            )
            return BLOCK if code == 0 else 0
        finally:
            os.close(data)
    except FileNotFoundError:
        return 0
    finally:
        os.close(marks)


def remove(place: Path) -> bool:
    """Takes a part away, unless somebody has it open."""
    try:
        with open(f"{place}{DATA}", "rb") as file:
            if not locks.take(file.fileno()) or not is_at(f"{place}{DATA}", file.fileno()):
                return False  # somebody has it, or it was finished before we had it, and what is there now is another
            for suffix in (MAP, DATA):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{place}{suffix}")
    except FileNotFoundError:
        pass
    return True


def open_held(path: str, *, alone: bool = False) -> int:
    """Opens or makes a file and holds it, so that nobody takes it away, beside others that do. `alone`: BlockingIOError when
    others hold it."""
    while True:
        file = _open(path)
        try:
            if not locks.take(file, shared=not alone, wait=not alone):
                raise BlockingIOError(f"{path} is held")
            if is_at(path, file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # it was renamed or taken away before we had it


def make_held(path: str) -> int:
    """Makes a file and holds it; BlockingIOError when there is one already, or somebody was faster to hold it. For one that will
    not be empty: that it still is says that nobody has filled it meanwhile."""
    try:
        file = _open(path, os.O_EXCL)
    except FileExistsError as error:
        raise BlockingIOError(f"{path} is there") from error
    try:
        if locks.take(file):
            seen = os.fstat(file)
            if seen.st_nlink and not seen.st_size:
                return file
        raise BlockingIOError(f"{path} was taken")
    except BaseException:
        os.close(file)
        raise


def empty(file: int) -> None:
    """Without its bytes. One that has none is left alone: ext4 writes a file that was cut to nothing to the disk when it is
    closed, which takes as long as all else that is done for a small file."""
    if os.fstat(file).st_size:
        os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)


def seal(file: int, modified_at: float | None) -> None:
    """Read-only, and of the time that its server gave it: `untouched` knows it by that."""
    os.fchmod(file, 0o400)
    os.utime(file, (time.time(), time_of(modified_at)))


def time_of(modified_at: float | None) -> float:
    """The time of a whole file; not every disk keeps those far off."""
    return modified_at if modified_at is not None and 0 < modified_at < 2**31 else UNDATED


def untouched(seen: os.stat_result, item: Item) -> bool:
    """Whether a whole file is as it was sealed. Links of mounts lead to it, and read-only stops neither root nor its owner. With
    an ETag it may have been sealed with another time, and be the same still: who writes to a file gives it the time of that."""
    if item.size not in (None, seen.st_size):
        return False
    if abs(seen.st_mtime - time_of(item.modified_at)) < _SAME_TIME:
        return True
    return bool(item.etag) and seen.st_mtime < seen.st_ctime - _WRITTEN


def is_whole(place: str | Path, item: Item) -> bool:
    """Whether the file is there, whole and untouched. One that is not is replaced in one move by who brings it again: another
    process may have been given its path."""
    try:
        return untouched(os.stat(place), item)
    except FileNotFoundError:
        return False


def is_at(path: str, file: int) -> bool:
    """Whether an open file still is what its path names."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def _open(path: str, how: int = 0) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | how
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        umasks.make_folder(Path(path).parent, private=True)
        return os.open(path, flags, 0o600)


def _reserve(file: int, size: int) -> None:
    """Gives a file its size with room on the disk for all of it: what is written to memory when a disk is full kills the process
    (SIGBUS), where this raises OSError."""
    if _LOCKS and os.fstat(file).st_size < size:
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
    os.ftruncate(file, size)


def _now() -> int:
    """Minutes, from 1 to 255 and round again."""
    return int(time.time() // 60) % 255 + 1


def _lock(file: int, kind: int, start: int, count: int) -> bool:
    """Of the open file, not of the process; False when another holds one that does not agree with it. Linux has such locks; where
    there are none, two may bring the same block, and nothing is taken away (`take_away`)."""
    if not _LOCKS:
        return True
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, start, count, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
