"""The name of content: its BLAKE3 hash, 64 hexadecimal digits."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from blake3 import blake3

_SMALL = 1024 * 1024
_BUFFER = 4 * 1024 * 1024
_BEHIND = 5
"""The nice value of a hashing thread. At 19 it gets no time on a busy machine, even while it holds the interpreter's lock."""


def hash_bytes(data: bytes | bytearray | memoryview) -> str:
    return blake3(data).hexdigest()


def hash_file(path: Path) -> str:
    """The hash of a file's content; OSError as `open` raises it."""
    with path.open("rb", buffering=0) as file:
        return hash_open(file.fileno())


def hash_open(descriptor: int) -> str:
    """The hash of an open file. It is read, not mapped: a mapped file that its writer truncates kills the process."""
    size = os.fstat(descriptor).st_size
    if size <= _SMALL:
        return hash_bytes(os.pread(descriptor, size, 0))
    hasher = blake3(max_threads=blake3.AUTO)
    add_range(descriptor, 0, size, hasher, bytearray(min(size, _BUFFER)))
    return hasher.hexdigest()


def hash_beside(path: Path, is_wanted: Callable[[], bool]) -> str:
    """The hash of a large file. Lowers the priority of this thread, so that it uses the processor time that others leave. Empty
    when `is_wanted` returns False before the end."""
    if sys.platform == "linux":  # elsewhere threads have no priority of their own
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BEHIND)
    hasher, buffer = blake3(), bytearray(_BUFFER)
    with path.open("rb", buffering=0) as file:
        while is_wanted():
            got = file.readinto(buffer)
            if not got:
                return hasher.hexdigest()
            hasher.update(memoryview(buffer)[:got])
    return ""


def add_range(descriptor: int, offset: int, count: int, hasher: blake3, buffer: bytearray) -> None:
    """Adds `count` bytes of an open file, from `offset` on, to a hash; fewer when the file ends before."""
    view = memoryview(buffer)
    while count > 0:
        got = os.preadv(descriptor, [view[: min(count, len(buffer))]], offset)
        if not got:
            return
        hasher.update(view[:got])
        offset, count = offset + got, count - got
