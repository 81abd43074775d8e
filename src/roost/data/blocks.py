"""A partial file: a sparse file, and a map with one byte per block of 4 MiB: when the block was last used, 0 for a missing block.
Downloads fill it in long ranges, mounts block by block, and each continues from the other's blocks.

A block's bytes are written before its byte in the map, so a killed process leaves no incomplete block marked as present. A reader
holds a shared lock on the block's byte in the map; a writer claims its blocks; eviction holds both exclusively. Opening,
finishing and removing take one gate lock, so a map is only used with its own file. The kernel releases all these locks with the
process.
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
_CLAIMS, _GATE = 1 << 40, 1 << 41  # offsets far beyond the map's end, used for locks only
_PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
_LOCKS = sys.platform == "linux"
UNDATED = 1_000_000_001.0
"""The time given to a whole file whose server reports none: any write to the file changes it."""
_SAME_TIME = 1.0
"""Seconds of precision that a time may lose on the disk: some file systems store whole seconds."""
_WRITTEN = 2.0
_libc = ctypes.CDLL(None, use_errno=True)


class Part:
    """`place` is the future path of the whole file, without a suffix. Any number of processes and threads may have a part
    open."""

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
        """False when the file was finished or removed before its map was opened: then open the new one."""
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
        """Gives both files their size. False when the map belongs to a removed file, because a process was killed while
        finishing it."""
        if not os.fstat(self._data).st_size and os.fstat(self._map_file).st_size:
            os.unlink(self._map_path)
            return False
        _reserve(self._map_file, self.count)
        os.ftruncate(self._data, self.size)
        return True

    def has(self, block: int) -> bool:
        return self._map[block] != 0

    def missing(self, first: int, last: int) -> tuple[int, int] | None:
        """The first run of missing blocks from `first` up to, but not including, `last`."""
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
        """Bytes that are present."""
        return min(self.size, (self.count - bytes(self._map).count(b"\0")) * BLOCK)

    @contextlib.contextmanager
    def filling(self, first: int, last: int, waiting: Callable[[], None] = lambda: None) -> "Iterator[Claim]":
        """Claims these blocks: nobody else fills them meanwhile. Blocks that have arrived can be read."""
        with self._map_again() as file:
            while not _lock(file, fcntl.F_WRLCK, _CLAIMS + first, last - first):
                waiting()
                time.sleep(_WAIT)
            yield Claim(self, file, range(first, last))

    def comes(self, block: int) -> bool:
        """True once the block is here: waits while another holder has claimed it. False when nobody is filling it."""
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
        """Marks the block as complete."""
        self._map[block] = _now()

    def read(self, offset: int, size: int) -> bytes | None:
        """Bytes within one block; None when the block is missing."""
        block = offset // BLOCK
        with self._reading(block):
            if not self._map[block]:
                return None
            if self._map[block] != (now := _now()):
                self._map[block] = now
            return os.pread(self._data, size, offset)

    def finish(self, place: Path, modified_at: float | None) -> bool:
        """Turns the part into the whole file; returns False when a block was evicted before."""
        with self._gate():
            if not is_at(self._data_path, self._data):
                return True  # another process finished it
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
        """Holds a shared lock on the block's byte, once for all threads of this process."""
        while not self._begin_reading(block):
            time.sleep(_WAIT / 10)  # the block is being evicted, which is short
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
        """Opens this map a second time, even if its path now names another file: for locks that end with it."""
        file = (
            os.open(f"/proc/self/fd/{self._map_file}", os.O_RDWR | os.O_CLOEXEC) if _LOCKS else os.dup(self._map_file)
        )
        try:
            yield file
        finally:
            os.close(file)


class Claim:
    """The blocks that the holder may fill: the requested ones, and others that arrive with them, one at a time. A block
    without a claim is never written: half of it could be evicted unnoticed."""

    def __init__(self, part: Part, file: int, blocks: range) -> None:
        self._part, self._file, self._blocks = part, file, blocks

    def takes(self, block: int) -> bool:
        """True when this block should be written now: it is missing, and nobody else is writing it."""
        if block in self._blocks:
            return not self._part.has(block)
        if not _lock(self._file, fcntl.F_WRLCK, _CLAIMS + block, 1):
            return False
        if self._part.has(block):
            self._let_go(block)
            return False
        return True

    def done(self, block: int) -> None:
        """Marks the block as complete."""
        self._part.mark(block)
        if block not in self._blocks:
            self._let_go(block)

    def _let_go(self, block: int) -> None:
        _lock(self._file, fcntl.F_UNLCK, _CLAIMS + block, 1)


def stale(place: Path) -> Iterator[tuple[int, int]]:
    """The present blocks of a part, each with the minutes since its last use."""
    try:
        marks = Path(f"{place}{MAP}").read_bytes()
    except FileNotFoundError:
        return
    now = _now()
    for block, mark in enumerate(marks):
        if mark:
            yield block, (now - mark) % 255


def take_away(place: Path, block: int) -> int:
    """Frees a block's space, unless it is in use; returns the bytes freed."""
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
    """Removes a part, unless it is open somewhere."""
    try:
        with open(f"{place}{DATA}", "rb") as file:
            if not locks.take(file.fileno()) or not is_at(f"{place}{DATA}", file.fileno()):
                return False  # it is open, or it was finished first and the path now names another file
            for suffix in (MAP, DATA):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{place}{suffix}")
    except FileNotFoundError:
        pass
    return True


def open_held(path: str, *, alone: bool = False) -> int:
    """Opens or creates a file with a shared lock, so that nobody removes it. `alone`: BlockingIOError when others hold it."""
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
        os.close(file)  # it was renamed or removed before we had the lock


def make_held(path: str) -> int:
    """Creates a file and locks it; raises BlockingIOError when it exists or another process locked it first. For files that
    will not be empty: an empty file shows that nobody has filled it meanwhile."""
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
    """Truncates the file. An empty one is left alone: ext4 flushes a file truncated to zero on close, which takes as long as
    all other work for a small file."""
    if os.fstat(file).st_size:
        os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)


def seal(file: int, modified_at: float | None) -> None:
    """Makes the file read-only and sets its server's time, by which `untouched` recognizes it."""
    os.fchmod(file, 0o400)
    os.utime(file, (time.time(), time_of(modified_at)))


def time_of(modified_at: float | None) -> float:
    """The time of a whole file; UNDATED when it has none or not every file system can store it."""
    return modified_at if modified_at is not None and 0 < modified_at < 2**31 else UNDATED


def untouched(seen: os.stat_result, item: Item) -> bool:
    """True when a whole file is as it was sealed. Mounts link to it, and read-only stops neither root nor its owner. With an
    ETag, a file sealed with another time may still be the same: a write sets the time of the write."""
    if item.size not in (None, seen.st_size):
        return False
    if abs(seen.st_mtime - time_of(item.modified_at)) < _SAME_TIME:
        return True
    return bool(item.etag) and seen.st_mtime < seen.st_ctime - _WRITTEN


def is_whole(place: str | Path, item: Item) -> bool:
    """True when the file exists, whole and untouched. Otherwise the next download replaces it in one rename, because another
    process may have been given its path."""
    try:
        return untouched(os.stat(place), item)
    except FileNotFoundError:
        return False


def is_at(path: str, file: int) -> bool:
    """True when the path still names this open file."""
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
    """Gives a file its size and reserves the disk space: a write to mapped memory on a full disk would kill the process
    (SIGBUS); this raises OSError instead."""
    if _LOCKS and os.fstat(file).st_size < size:
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
    os.ftruncate(file, size)


def _now() -> int:
    """Minutes, from 1 to 255, then again from 1."""
    return int(time.time() // 60) % 255 + 1


def _lock(file: int, kind: int, start: int, count: int) -> bool:
    """Locks for the open file, not the process; returns False when another lock conflicts. Linux only: elsewhere two
    processes may download the same block, and blocks are never evicted (`take_away`)."""
    if not _LOCKS:
        return True
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, start, count, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
