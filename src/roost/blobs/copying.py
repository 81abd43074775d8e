"""Bytes from file to file inside the kernel, where it can; and hashed while they go."""

import errno
import os
import queue
import threading
from collections.abc import Callable

from blake3 import blake3

from roost.blobs.hashing import add_range

_STEP = 16 * 1024 * 1024
_BUFFER = 1024 * 1024  # stays in the processor's cache between the read and the hash
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
    """Copies and hashes at once: a second thread hashes *the copy*, right behind, out of the page cache. So the hash is that of
    what was stored, even when the source changes meanwhile. `target` must be open for reading too."""
    hasher, steps, problems = blake3(), queue.SimpleQueue[int](), list[BaseException]()

    def hash_behind() -> None:
        buffer, offset = bytearray(_BUFFER), 0
        try:
            while count := steps.get():
                add_range(target, offset, count, hasher, buffer)
                offset += count
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            problems.append(error)

    thread = threading.Thread(target=hash_behind, name="roost-hash", daemon=True)
    thread.start()
    try:
        copied = copy(source, target, size, steps.put)
    finally:
        steps.put(0)
        thread.join()
    if problems:
        raise problems[0]
    return hasher.hexdigest(), copied


def write_all(target: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:  # a single write takes 2 GiB at most
        view = view[os.write(target, view) :]
