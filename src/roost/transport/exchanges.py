"""One HTTP exchange: connects to a control plane and sends a request. `client.py` loads this with its first call."""

import errno
import os
import select
import socket
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from io import FileIO
from urllib.parse import urlsplit

from roost.blobs.copying import pour, write_all
from roost.domain.errors import InvalidInput

__all__ = ["BLOCK", "BROKEN", "FileFault", "IncompleteRead", "connect", "save", "send"]

BROKEN = (OSError, HTTPException)
"""The errors of a broken connection."""
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE)
"""Error numbers that a file may raise, but never a connection."""
BLOCK = (
    256 * 1024
)  # of a file on its way: stays in the processor's cache, which 4 MiB does not; the library's own 8 KiB triple the time
_CONNECT_TIMEOUT = 5.0
_STEP = 4 * 1024 * 1024


class FileFault(Exception):
    """A file of this machine cannot be read or written; `problem` is the reason. Not an OSError, since no connection broke."""

    def __init__(self, problem: OSError) -> None:
        super().__init__(str(problem))
        self.problem = problem


def connect(url: str) -> HTTPConnection:
    """A new connection, not open yet."""
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # unbalanced brackets, or a port that is not a number
        scheme, host, port = "", None, None
    if scheme not in ("http", "https") or not host:
        raise InvalidInput(f"{url!r} is not the address of a control plane.", hint="It looks like http://host:port.")
    if scheme == "http":
        return HTTPConnection(host, port, timeout=_CONNECT_TIMEOUT, blocksize=BLOCK)
    context = ssl.create_default_context()
    return HTTPSConnection(host, port, timeout=_CONNECT_TIMEOUT, blocksize=BLOCK, context=context)


def send(
    connection: HTTPConnection,
    method: str,
    target: str,
    token: str,
    body: bytes | memoryview | FileIO | None,
    is_json: bool,
    headers: Mapping[str, str] | None,
    timeout: float,
    during: Callable[[], object] = lambda: None,
) -> HTTPResponse:
    """Sends a request; returns the answer. A file is sent from its start, up to its current size. `during` is called while a
    large file is sent; an error from it ends the exchange."""
    sent = {"Authorization": f"Bearer {token}", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json" if is_json else "application/octet-stream"
    if connection.sock is None:
        connection.connect()
    connection.sock.settimeout(timeout)
    if isinstance(body, FileIO):
        size = os.fstat(body.fileno()).st_size
        connection.request(method, target, headers={**sent, "Content-Length": str(size)})
        offset = 0
        while offset < size:
            offset += _send_some(connection, body, offset, size - offset)
            during()
    else:
        connection.request(method, target, body=body, headers=sent)
    return connection.getresponse()


def _send_some(connection: HTTPConnection, file: FileIO, offset: int, left: int) -> int:
    """Sends some bytes of a file, inside the kernel if the connection is not encrypted; returns their number."""
    secure = isinstance(connection, HTTPSConnection)
    count = min(BLOCK if secure else _STEP, left)
    try:
        if secure:
            data = os.pread(file.fileno(), count, offset)
            connection.sock.sendall(data)
            sent = len(data)
        else:
            sent = connection.sock.sendfile(file, offset, count)
    except OSError:
        _check_readable(file, offset, count)
        raise
    if not sent:
        raise FileFault(OSError(errno.ESTALE, "it became shorter while it was sent", str(file.name)))
    return sent


def _check_readable(file: FileIO, offset: int, count: int) -> None:
    """Raises FileFault when the file is the cause of the error."""
    try:
        os.pread(file.fileno(), count, offset)
    except OSError as error:
        raise FileFault(OSError(error.errno, error.strerror, str(file.name))) from error


def save(connection: HTTPConnection, answer: HTTPResponse, file: FileIO, progress: Callable[[int], object]) -> int:
    """Writes an answer's bytes to a file as they arrive; returns their number. FileFault when the file cannot be written."""
    try:
        return _save(connection, answer, file, progress)
    except OSError as error:
        if error.errno in _OF_DISKS:
            raise FileFault(error) from error
        raise


def _save(connection: HTTPConnection, answer: HTTPResponse, file: FileIO, progress: Callable[[int], object]) -> int:
    size = 0
    if answer.length and connection.sock and not isinstance(connection, HTTPSConnection):
        size = _pour(connection.sock, answer, file, progress)
    buffer = memoryview(bytearray(BLOCK))
    while count := answer.readinto(buffer):
        left = buffer[:count]
        while left:
            left = left[file.write(left) :]
        size += count
        progress(size)
    return size


def _pour(sock: socket.socket, answer: HTTPResponse, file: FileIO, progress: Callable[[int], object]) -> int:
    """Writes the bytes that are already buffered, then moves the rest from the socket to the file inside the kernel."""
    assert answer.length is not None
    begun = answer.read(min(len(answer.peek()), answer.length))
    size = 0

    def come(got: int) -> None:
        nonlocal size
        size += got
        progress(size)

    write_all(file.fileno(), begun)
    come(len(begun))
    answer.length -= pour(sock, file.fileno(), answer.length, lambda: _wait(sock, select.POLLIN), come)
    if answer.length:
        raise IncompleteRead(b"", answer.length)
    return size


def _wait(sock: socket.socket, event: int) -> None:
    ready = select.poll()
    ready.register(sock, event)
    seconds = sock.gettimeout()
    if not ready.poll(None if seconds is None else seconds * 1000):
        raise TimeoutError("The control plane is silent.")
