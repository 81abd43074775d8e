"""Bytes from file to file inside the kernel, where it can; and hashed while they go."""

import errno
import os
from collections.abc import Callable

from blake3 import blake3

from roost.blobs.hashing import add_range

_STEP = 64 * 1024 * 1024
_BUFFER = 4 * 1024 * 1024  # large enough for the hash to share it among the processors
_CANNOT = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)


def copy(source: int, target: int, size: int, progress: Callable[[int], None] = lambda _: None) -> int:
    """Copies up to `size` bytes from the start of one open file to that of another; how many there were. `progress` hears of each
    step's bytes once they are there."""
    done = 0
    step = _between_files
    while done < size:
        try:
            got = step(source, target, done, min(_STEP, size - done))
        except OSError as error:
            if step is _through_memory or error.errno not in _CANNOT:
                raise
            step = _to_any_file if step is _between_files else _through_memory
            continue
        if not got:
            break
        done += got
        progress(got)
    return done


def _between_files(source: int, target: int, offset: int, count: int) -> int:
    return os.copy_file_range(source, target, count, offset, offset)


def _to_any_file(source: int, target: int, offset: int, count: int) -> int:
    os.lseek(target, offset, os.SEEK_SET)
    return os.sendfile(target, source, offset, count)


def _through_memory(source: int, target: int, offset: int, count: int) -> int:
    data = os.pread(source, min(count, _BUFFER), offset)
    os.lseek(target, offset, os.SEEK_SET)
    write_all(target, data)
    return len(data)


def copy_hashed(source: int, target: int, size: int) -> tuple[str, int]:
    """Copies as `copy` does, and hashes *the copy* step by step, out of the page cache: so the hash is that of what was stored,
    even when the source changes meanwhile. `target` must be open for reading too. Hash and size."""
    hasher, buffer, done = blake3(max_threads=blake3.AUTO), bytearray(_BUFFER), 0

    def hash_step(count: int) -> None:
        nonlocal done
        add_range(target, done, count, hasher, buffer)
        done += count

    copy(source, target, size, hash_step)
    return hasher.hexdigest(), done


def write_all(target: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:  # a single write takes 2 GiB at most
        view = view[os.write(target, view) :]
