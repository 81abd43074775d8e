"""Files that are read before they are downloaded: a read downloads the blocks it needs, and the next ones for sequential readers.

Blocks are stored in the node's cache, where downloads and other mounts find them. Used by the mount's own process.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from roost.data import blocks
from roost.data.blocks import BLOCK, Part
from roost.data.cache import Cache
from roost.data.transfers import Transfer
from roost.domain.datastores import Item

_MOST_AHEAD = 8
AHEAD = ThreadPoolExecutor(4, thread_name_prefix="roost-ahead")


class LocalFile:
    """A file that is on this machine."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file, size, offset)

    def close(self) -> None:
        os.close(self._file)


class BlockFile:
    """A large file, downloaded block by block. Thread-safe."""

    def __init__(self, item: Item, cache: Cache, transfer: Transfer) -> None:
        self._item = item
        self._size = item.size or 0
        self._cache = cache
        self._transfer = transfer
        self._place = cache.place(cache.key(item))
        self._part = Part(self._place, self._size)
        self._lock = threading.Lock()
        self._coming: dict[int, threading.Event] = {}
        self._next = -1
        self._ahead = 1
        self._most_ahead = min(_MOST_AHEAD, cache.limit // (16 * BLOCK))
        self._finished = False
        self._gone = threading.Event()

    def read(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self._size)
        pieces = []
        while offset < end:
            block = offset // BLOCK
            upto = min(end, (block + 1) * BLOCK)
            self._look_ahead(block)
            while (piece := self._part.read(offset, upto - offset)) is None:
                self._bring(block)
            pieces.append(piece)
            offset = upto
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        with self._lock:
            self._gone.set()
            if self._coming:  # the last download closes it
                return
        self._part.close()

    def _look_ahead(self, block: int) -> None:
        """Downloads the next blocks for a sequential reader, more of them the longer it continues."""
        with self._lock:
            if block == self._next - 1:
                return
            self._ahead = min(2 * self._ahead, self._most_ahead) if block == self._next else min(1, self._most_ahead)
            goes_on = block == self._next or block == 0
            self._next = block + 1
            wanted = range(block + 1, min(block + 1 + self._ahead, self._part.count)) if goes_on else range(0)
            wanted_now = [each for each in wanted if not self._part.has(each) and each not in self._coming]
        for each in wanted_now:
            AHEAD.submit(self._bring_quietly, each)

    def _bring_quietly(self, block: int) -> None:
        try:
            if not self._gone.is_set() and not self._part.has(block):
                self._bring(block)
        except Exception:  # noqa: BLE001, S110  the read that needs the block will raise it
            pass

    def _bring(self, block: int) -> None:
        with self._lock:
            if self._gone.is_set():
                return
            coming = self._coming.get(block)
            mine = self._coming.setdefault(block, threading.Event())
        if coming:
            coming.wait()
            return
        try:
            if not self._part.comes(block):
                self._transfer.stretch(self._item, self._part, block, block + 1)
                self._cache.filled(BLOCK)
            self._finish()
        finally:
            with self._lock:
                del self._coming[block]
                last = self._gone.is_set() and not self._coming
            mine.set()
            if last:
                self._part.close()

    def _finish(self) -> None:
        """Turns the part into a whole file when every block is present."""
        with self._lock:
            if self._finished or not self._part.whole:
                return
            self._finished = True
        if not self._part.finish(self._place, self._item.modified_at):
            self._finished = False  # a block was evicted meanwhile


def opened(item: Item, cache: Cache, transfer: Transfer, blockwise: Callable[[], BlockFile]) -> LocalFile | BlockFile:
    """Opens a file to read: local, cached, small enough to download whole now, or block by block."""
    if item.path:
        return LocalFile(item.path)
    place = cache.place(cache.key(item))
    if (item.size or 0) <= BLOCK:
        for _ in range(3):  # it may be evicted between download and opening
            if blocks.is_whole(place, item):
                with contextlib.suppress(FileNotFoundError):
                    return LocalFile(str(place))
            transfer.whole(item, place)
            cache.filled(item.size or 0)
            with contextlib.suppress(FileNotFoundError):
                return LocalFile(str(place))
        return LocalFile(str(place))
    if blocks.is_whole(place, item):
        with contextlib.suppress(FileNotFoundError):
            return LocalFile(str(place))
    return blockwise()
