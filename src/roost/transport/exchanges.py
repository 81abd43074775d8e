"""One HTTP exchange: a connection to a control plane, a request sent over it. `client.py` loads this with its first call."""

import os
import select
import socket
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from io import FileIO
from pathlib import Path
from urllib.parse import urlsplit

from roost.blobs.copying import pour, write_all
from roost.domain.errors import InvalidInput

__all__ = ["BLOCK", "BROKEN", "IncompleteRead", "connect", "save", "send"]

BROKEN = (OSError, HTTPException)
"""What a connection that broke raises."""
BLOCK = (
    256 * 1024
)  # of a file on its way: stays in the processor's cache, which 4 MiB does not; the library's own 8 KiB triple the time
_CONNECT_TIMEOUT = 5.0
_STEP = 4 * 1024 * 1024


def connect(url: str) -> HTTPConnection:
    """A new connection, not open yet."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{url!r} is not the address of a control plane.", hint="It looks like http://host:port.")
    if parts.scheme == "http":
        return HTTPConnection(parts.hostname, parts.port, timeout=_CONNECT_TIMEOUT, blocksize=BLOCK)
    context = ssl.create_default_context()
    return HTTPSConnection(parts.hostname, parts.port, timeout=_CONNECT_TIMEOUT, blocksize=BLOCK, context=context)


def send(
    connection: HTTPConnection,
    method: str,
    target: str,
    token: str,
    body: bytes | memoryview | Path | None,
    is_json: bool,
    headers: Mapping[str, str] | None,
    timeout: float,
    during: Callable[[], object] = lambda: None,
) -> HTTPResponse:
    """The answer. `during` is called within a large file, and what it raises ends the exchange."""
    sent = {"Authorization": f"Bearer {token}", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json" if is_json else "application/octet-stream"
    if connection.sock is None:
        connection.connect()
    connection.sock.settimeout(timeout)
    if isinstance(body, Path):
        with body.open("rb") as file:
            sent["Content-Length"] = str(os.fstat(file.fileno()).st_size)
            if isinstance(connection, HTTPSConnection):
                connection.request(method, target, body=file, headers=sent)
            else:  # inside the kernel
                connection.request(method, target, headers=sent)
                offset = 0
                while sent_now := connection.sock.sendfile(file, offset, _STEP):
                    offset += sent_now
                    during()
    else:
        connection.request(method, target, body=body, headers=sent)
    return connection.getresponse()


def save(connection: HTTPConnection, answer: HTTPResponse, file: FileIO, progress: Callable[[int], object]) -> int:
    """Writes an answer's bytes to a file as they come; how many."""
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
    """What is read already, then the rest from the socket to the file inside the kernel."""
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
