"""Copies bytes from file to file, and from a socket to a file, inside the kernel if possible, and hashes them meanwhile."""

import contextlib
import errno
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable

from blake3 import blake3

from roost.blobs.hashing import add_range

if sys.platform != "win32":
    import fcntl

_STEP = 16 * 1024 * 1024
_BUFFER = 1024 * 1024  # stays in the processor's cache between the read and the hash
_PIECE = 256 * 1024  # of a socket: larger pieces are several times slower
_CANNOT = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)
_Way = tuple[Callable[[int], int], Callable[[int], None]]
"""Two functions: one takes at most the given bytes from a socket and returns their number; one writes that many to a file."""


def copy(source: int, target: int, size: int, progress: Callable[[int], None] = lambda _: None) -> int:
    """Copies up to `size` bytes from the start of one open file to the start of another; returns their number. `progress` is
    called with the bytes of each step once they are written."""
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


def pour(
    source: socket.socket,
    target: int,
    count: int,
    wait: Callable[[], object],
    progress: Callable[[int], object],
    taken: Callable[[int], object] = lambda _: None,
) -> int:
    """Appends the next `count` bytes of a non-blocking socket to a file; returns how many came before the peer closed it. `wait`
    returns when there may be more to read, or raises. `taken` is called once bytes have left the socket, `progress` once they are
    in the file."""
    with contextlib.ExitStack() as stack:
        spliced = _spliced(stack, source, target)
        take, put = spliced or _received(source, target)
        done = 0
        while done < count:
            try:
                got = take(count - done)
            except BlockingIOError:
                wait()
                continue
            except OSError as error:
                if spliced is None or error.errno not in _CANNOT:
                    raise
                spliced = None
                take, put = _received(source, target)
                continue
            if not got:
                break
            taken(got)
            put(got)
            done += got
            progress(got)
    return done


def _spliced(stack: contextlib.ExitStack, source: socket.socket, target: int) -> _Way | None:
    if sys.platform != "linux":
        return None
    out, into = os.pipe2(os.O_CLOEXEC)
    stack.callback(os.close, out)
    stack.callback(os.close, into)
    with contextlib.suppress(OSError):  # above this user's limit: the usual 64 KiB will do
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, _BUFFER)

    def take(count: int) -> int:
        return os.splice(source.fileno(), into, min(count, _BUFFER))

    def put(count: int) -> None:
        left = count
        while left:
            try:
                left -= os.splice(out, target, left)
            except OSError as error:
                if error.errno not in _CANNOT:
                    raise
                data = os.read(out, left)
                write_all(target, data)
                left -= len(data)

    return take, put


def _received(source: socket.socket, target: int) -> _Way:
    buffer = memoryview(bytearray(_PIECE))

    def take(count: int) -> int:
        return source.recv_into(buffer[:count])

    def put(count: int) -> None:
        write_all(target, buffer[:count])

    return take, put


def copy_hashed(source: int, target: int, size: int) -> tuple[str, int]:
    """Copies a file and hashes it meanwhile."""
    return hashed_behind(target, lambda progress: copy(source, target, size, progress))


def hashed_behind(target: int, fill: Callable[[Callable[[int], None]], int]) -> tuple[str, int]:
    """Hash and size of the bytes that `fill` writes to an empty file. `fill` reports each part, and a second thread hashes *the
    copy* right behind it, from the page cache. So the hash is that of the stored bytes, even when the source changes meanwhile.
    `target` must be open for reading too."""
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
        copied = fill(steps.put)
    finally:
        steps.put(0)
        thread.join()
    if problems:
        raise problems[0]
    return hasher.hexdigest(), copied


def write_all(target: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:  # one write takes at most 2 GiB
        view = view[os.write(target, view) :]
