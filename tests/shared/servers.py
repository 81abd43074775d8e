"""A real HTTP server with manners that can be set for each file: it cuts, lies, changes, redirects; it notes what was asked."""

import contextlib
import hashlib
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from roost.domain.datastores import Item

MODIFIED = 1_600_000_000.0
MODIFIED_TEXT = "Sun, 13 Sep 2020 12:26:40 GMT"


@dataclass
class Manners:
    """How a file is served. Counts go down with each answer that they spoil."""

    content: bytes
    etag: str = ""
    dated: bool = True
    ranges: bool = True
    heads: bool = True
    conditions: bool = True
    chunked: bool = False
    cut_at: int = -1
    """After so many bytes of a body the connection ends…"""
    cuts: int = 0
    """…so many times; then it holds."""
    fails: int = 0
    status: int = 503
    location: str = ""
    claims: int | None = None
    """The length that the head tells, whatever comes."""
    placed: str = ""
    """The Content-Range that the head tells, whatever comes."""
    md5: str = ""
    old: bool = False
    """Answers as HTTP/1.0."""
    pause_at: int = -1
    """After so many bytes of a body nothing comes before `wait` is set."""
    wait: threading.Event | None = None
    """Nothing is answered before it is set."""


@dataclass
class Server:
    url: str
    files: dict[str, Manners] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, name and range of every request."""
    tokens: list[str] = field(default_factory=list)
    """The Authorization header of every request; empty for none."""

    def put(self, name: str, content: bytes, **manners: Any) -> Item:
        """A file, and the item that a listing of it gives."""
        made = Manners(content, **manners)
        self.files[name] = made
        return Item(
            name=name,
            url=f"{self.url}/{name}",
            source=f"{self.url}/{name}",
            size=len(content),
            etag=made.etag,
            modified_at=MODIFIED if made.dated else None,
        )

    def gets(self, name: str = "") -> int:
        return sum(method == "GET" and name in ("", asked) for method, asked, _ in self.asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 256 * 1024  # head and a small body in one packet, as other servers send them
    shared: Server

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        name = self.path.lstrip("/").partition("?")[0]
        asked = self.headers.get("Range", "")
        self.shared.asked.append((self.command, name, asked))
        self.shared.tokens.append(self.headers.get("Authorization", ""))
        file = self.shared.files.get(name)
        if file is None or (not body and not file.heads):
            self._short(404 if file is None else 405)
            return
        if file.wait and file.pause_at < 0:
            file.wait.wait(30)
        if file.location:
            self._short(302, Location=file.location)
        elif file.fails > 0:
            file.fails -= 1
            self._short(file.status)
        elif file.conditions and self.headers.get("If-Match", file.etag) != file.etag:
            self._short(412)
        elif file.ranges and asked and int(asked[6:].partition("-")[0]) >= len(file.content):
            self._short(416)
        else:
            self._send(file, asked if file.ranges else "", body)

    def _send(self, file: Manners, asked: str, body: bool) -> None:
        start, end = 0, len(file.content)
        found = re.match(r"bytes=(\d+)-(\d*)", asked)
        if found:
            start, end = int(found[1]), min(end, int(found[2]) + 1 if found[2] else end)
        self.protocol_version = "HTTP/1.0" if file.old else "HTTP/1.1"
        self.close_connection |= file.old
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", file.placed or f"bytes {start}-{end - 1}/{len(file.content)}")
        if file.dated:
            self.send_header("Last-Modified", MODIFIED_TEXT)
        for header, value in (("ETag", file.etag), ("Content-MD5", file.md5)):
            if value:
                self.send_header(header, value)
        if file.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(end - start if file.claims is None else file.claims))
        self.end_headers()
        if body:
            self._send_body(file, file.content[start:end])

    def _send_body(self, file: Manners, data: bytes) -> None:
        if file.wait and 0 <= file.pause_at < len(data):
            self.wfile.write(data[: file.pause_at])
            self.wfile.flush()
            file.wait.wait(30)
            self._hang_up()
        elif file.cuts > 0 and 0 <= file.cut_at < len(data):
            file.cuts -= 1
            self.wfile.write(data[: file.cut_at])
            self.wfile.flush()
            self._hang_up()
        elif file.chunked:
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
        else:
            self.wfile.write(data)
            if file.claims is not None:
                self.wfile.flush()
                self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _short(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """A server that is gone has no connections either."""
        for request in list(self.open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who left is no event."""


@contextlib.contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server on loopback, until the end; with a context one of https."""
    handler = type("Handler", (_Handler,), {})
    listener = _Listener(("127.0.0.1", 0), handler)
    if context:
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
    server = Server(f"http{'s' if context else ''}://127.0.0.1:{listener.server_address[1]}")
    handler.shared = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        listener.hang_up()
        thread.join()


def content(size: int, seed: str = "") -> bytes:
    """Bytes that are the same every time and differ from place to place."""
    return hashlib.shake_128(f"{size}{seed}".encode()).digest(size)


def until(ready: Callable[[], bool], seconds: float = 30.0) -> None:
    """Returns once it is so; fails when that takes too long."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def bytes_of(paths: list[Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths]
