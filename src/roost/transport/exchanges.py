"""One HTTP exchange: a connection to a control plane, a request sent over it. `client.py` loads this with its first call."""

import os
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from io import FileIO
from pathlib import Path
from urllib.parse import urlsplit

from roost.domain.errors import InvalidInput

__all__ = ["BLOCK", "BROKEN", "IncompleteRead", "connect", "save", "send"]

BROKEN = (OSError, HTTPException)
"""What a connection that broke raises."""
BLOCK = (
    256 * 1024
)  # of a file on its way: stays in the processor's cache, which 4 MiB does not; the library's own 8 KiB triple the time
_CONNECT_TIMEOUT = 5.0


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
) -> HTTPResponse:
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
                connection.sock.sendfile(file)
    else:
        connection.request(method, target, body=body, headers=sent)
    return connection.getresponse()


def save(answer: HTTPResponse, file: FileIO, progress: Callable[[int], object]) -> int:
    """Writes an answer's bytes to a file as they come; how many."""
    buffer, size = memoryview(bytearray(BLOCK)), 0
    while count := answer.readinto(buffer):
        left = buffer[:count]
        while left:
            left = left[file.write(left) :]
        size += count
        progress(size)
    return size
