"""A client's connection: HTTP/1.0 and 1.1 in, answers out in the order of the requests. No ASGI, for speed.

httptools parses. The requests of one connection are handled one at a time; early ones wait, and meanwhile nothing more is read.
Key, path and length are checked before the body, so that no body is received in vain.
"""

import asyncio
import re
import time
from collections import deque
from http import HTTPStatus
from typing import Protocol, cast

import httptools

from roost.serving.exchanges import Answer, Exchange, busy, refusal, too_large

MOST_HEADERS, MOST_HEADER_BYTES, LONGEST_URL = 100, 64 * 1024, 8 * 1024
HEAD_SECONDS = 20.0
"""Time from the first byte of a request to the last of its headers; also the extra time that a body gets beyond SLOWEST."""
SLOWEST = 2048
"""The least average speed of a body, in bytes per second."""
IDLE_SECONDS = 75.0
UNREAD_SECONDS = 30.0
"""Time for which a client may read nothing of its answer."""
SWALLOWED = 256 * 1024
"""Bytes of a refused body that are read and dropped, so that the connection can stay open."""
LINGER_SECONDS = 2.0
_STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_BODILESS = (204, 304)
_LARGE = 64 * 1024
"""A body of at least this many bytes is written separately, without a copy."""
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
_UPGRADE_WITHIN = 16 * 1024


class Handler(Protocol):
    """The front's interface for connections."""

    held: int
    held_bytes: int
    max_request_bytes: int
    closing: bool
    date: bytes

    def connected(self, client: "Client") -> bool: ...
    def disconnected(self, client: "Client") -> None: ...
    def refuse(self, method: bytes, path: bytes, headers: dict[bytes, bytes]) -> Answer | None: ...
    def handle(self, exchange: Exchange) -> None: ...
    def request_id(self, headers: dict[bytes, bytes]) -> bytes: ...
    def finished(self, client: "Client", exchange: Exchange, answer: Answer) -> None: ...


class Client(asyncio.Protocol):
    """Belongs to the loop's thread; `sweep` is called about once a second."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.peer = "-"
        self._current: Exchange | None = None
        self._early: deque[tuple[Exchange, bool, Answer | None]] = deque()
        """Requests that arrived before the previous answer: (request, keep the connection, refused with)."""
        self._keep = True
        self._over = False
        """True when nothing more is read: the last answer was sent, or only answers are still to be sent."""
        self._last_answer: Answer | None = None
        self._unsent = 0
        self._unread = 0
        """Unsent bytes of answers at the last check."""
        self._since = time.monotonic()
        """Start of the current activity: idle, sending a request, not reading an answer."""
        self._paused = False
        self._held = 0
        self._messages = 0
        self._new_message()

    def _new_message(self) -> None:
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._header_count = 0
        self._head_seen = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._refused: Answer | None = None
        self._swallowing = False
        self._in_message = False
        self._head_done = False

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it
        peer = transport.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else "-"
        self._parser = httptools.HttpRequestParser(self)
        if not self._handler.connected(self):
            self._last(busy("The service has as many connections as it can have."))

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        if not self._in_message:
            self._in_message = True
            self._since = time.monotonic()
        if not self._head_done and b"pgrade" in data[:_UPGRADE_WITHIN]:
            data = _without_upgrade(data)
        before = self._messages
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # An upgrade that `_without_upgrade` did not find: the request is answered, the rest is not read.
            self._over = True
        except httptools.HttpParserError as error:
            self._fail(400, f"The request is no HTTP: {error}.")
        if not self._head_done and self._messages == before:
            self._head_seen += len(data)
            if self._head_seen > MOST_HEADER_BYTES + LONGEST_URL:
                self._fail(431, f"The request's head has more than {MOST_HEADER_BYTES + LONGEST_URL} bytes.")

    def eof_received(self) -> bool:
        self._over = True  # the client has sent everything, and may still wait for answers
        return self._current is not None or bool(self._early)

    def connection_lost(self, _: Exception | None) -> None:
        self._over = True
        self._release(self._held)
        self._handler.held -= self._unsent
        self._unsent = 0
        for exchange in filter(None, (self._current, *(early[0] for early in self._early))):
            exchange.gone = True
            if exchange.worker is None:
                exchange.body = b""
        del self._parser  # it holds this object
        self._handler.disconnected(self)

    def pause_writing(self) -> None:
        self._unsent = self._transport.get_write_buffer_size()
        self._handler.held += self._unsent
        self._since = time.monotonic()

    def resume_writing(self) -> None:
        self._handler.held -= self._unsent
        self._unsent = 0
        self._since = time.monotonic()
        if self._current is None:
            self._next()

    # Called by the parser

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > LONGEST_URL:
            self._refuse(refusal(414, f"The request's address has more than {LONGEST_URL} bytes."))
            self._url = self._url[:200]

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        self._header_count += 1
        if self._header_bytes > MOST_HEADER_BYTES or self._header_count > MOST_HEADERS:
            self._refuse(
                refusal(431, f"The request has more than {MOST_HEADERS} headers or {MOST_HEADER_BYTES} bytes of them.")
            )
            return
        name = name.lower()
        known = self._headers.get(name)
        if known is not None:
            value = known + (b"; " if name == b"cookie" else b", ") + value
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        if self._over:
            return
        self._head_done = True
        self._path, _, self._query = self._url.partition(b"?")
        if self._refused is None:
            self._check()
        length = int(self._headers.get(b"content-length") or 0)
        if self._refused is None:
            if self._headers.get(b"expect", b"").lower() == b"100-continue":
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        chunked = b"transfer-encoding" in self._headers
        if chunked or length > SWALLOWED or b"expect" in self._headers:
            self._last(self._refused)
        else:
            self._swallowing = True

    def _check(self) -> None:
        """Checks everything that can be refused before the body."""
        handler, headers = self._handler, self._headers
        if not self._path.startswith(b"/"):
            self._path = b"/" + self._path.partition(b"://")[2].partition(b"/")[2] if b"://" in self._path else b"*"
        refused = handler.refuse(self._parser.get_method(), self._path, headers)
        if refused is None:
            expected = headers.get(b"expect")
            length = int(headers.get(b"content-length") or 0)
            if length > handler.max_request_bytes:
                refused = too_large(handler.max_request_bytes)
            elif length and handler.held + length > handler.held_bytes:
                refused = busy("The service holds as many bytes of requests as it may.")
            elif expected is not None and expected.lower() != b"100-continue":
                refused = refusal(417, "The request expects what is not `100-continue`.")
        if refused is not None:
            self._refuse(refused)

    def on_body(self, data: bytes) -> None:
        if self._over or self._swallowing:
            return
        self._size += len(data)
        self._held += len(data)
        self._handler.held += len(data)
        self._pieces.append(data)
        if self._size > self._handler.max_request_bytes:
            self._last(too_large(self._handler.max_request_bytes))
        elif self._handler.held > self._handler.held_bytes:
            self._last(busy("The service holds as many bytes of requests as it may."))

    def on_message_complete(self) -> None:
        if self._over:
            return
        pieces = self._pieces
        exchange = Exchange(
            self._parser.get_method(),
            self._path,
            self._query,
            self._headers,
            pieces[0] if len(pieces) == 1 else b"".join(pieces),
            time.monotonic(),
            self._handler.request_id(self._headers),
            self._deliver,
        )
        self._messages += 1
        refused = self._refused
        # HTTP/1.0 clients may wait for the end of the connection, regardless of their request.
        keep = self._parser.should_keep_alive() and self._parser.get_http_version() != "1.0"
        self._new_message()
        if self._current is None and not self._unsent and not self._early:
            self._start(exchange, keep, refused)
            return
        self._early.append((exchange, keep, refused))
        if not self._paused and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    # Answers

    def _start(self, exchange: Exchange, keep: bool, refused: Answer | None) -> None:
        self._current = exchange
        self._keep = keep
        if refused is None:
            self._handler.handle(exchange)
        else:
            exchange.answer(refused)

    def _deliver(self, exchange: Exchange, answer: Answer) -> None:
        self._release(len(exchange.body))
        self._handler.finished(self, exchange, answer)
        if exchange.gone:
            return
        self._current = None
        more = bool(self._early) or self._last_answer is not None
        keep = self._keep and (more or not (self._over or self._handler.closing))
        self._write(exchange, answer, keep)
        self._since = time.monotonic()
        if not keep:
            self._end(linger=self._in_message)
        elif (more or self._paused) and not self._unsent:
            self._next()

    def _next(self) -> None:
        """Handles the next early request, if any; else continues to read."""
        if self._early or self._last_answer is not None:
            # Not called from within the previous answer: a thousand early requests would nest a thousand calls.
            asyncio.get_running_loop().call_soon(self._start_early)
        elif self._paused and not self._over and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    def _start_early(self) -> None:
        if self._current is not None or self._transport.is_closing():
            return
        if self._early:
            self._start(*self._early.popleft())
        elif self._last_answer is not None:
            answer, self._last_answer = self._last_answer, None
            self._write(None, answer, keep=False)
            self._end(linger=True)

    def _write(self, exchange: Exchange | None, answer: Answer, keep: bool) -> None:
        lines = [_STATUS.get(answer.status) or f"HTTP/1.1 {answer.status} Unknown\r\n".encode()]
        for name, value in answer.headers:
            lines.append(b"%b: %b\r\n" % (name, value))
        if answer.status not in _BODILESS:
            lines.append(b"content-length: %d\r\n" % len(answer.body))
        if exchange is not None:
            lines.append(b"x-ms-request-id: %b\r\n" % exchange.request_id)
        if not keep:
            lines.append(b"connection: close\r\n")
        lines.append(b"date: %b\r\n\r\n" % self._handler.date)
        if answer.status not in _BODILESS and not (exchange is not None and exchange.method == b"HEAD"):
            if len(answer.body) > _LARGE:
                self._transport.write(b"".join(lines))
                lines = []
            lines.append(answer.body)
        self._transport.write(b"".join(lines) if len(lines) != 1 else lines[0])

    def _refuse(self, answer: Answer) -> None:
        if self._refused is None:
            self._refused = answer

    def _fail(self, status: int, message: str) -> None:
        self._last(refusal(status, message))

    def _last(self, answer: Answer) -> None:
        """Sends the last answer of this connection, to a request that may still be arriving. Pending answers are sent first."""
        if self._over:
            return
        self._over = True
        self._last_answer = answer
        self._release(self._size)
        self._pieces = []
        path = self._url.partition(b"?")[0][:200] or b"-"
        exchange = Exchange(b"-", path, b"", {}, b"", time.monotonic(), self._handler.request_id({}), _nobody)
        self._handler.finished(self, exchange, answer)
        if self._current is None and not self._early:
            self._write(None, answer, keep=False)
            self._end(linger=True)

    def _end(self, *, linger: bool) -> None:
        """Closes after the written bytes are sent. `linger`: further input is read and dropped for a moment, since a reset could
        overtake the answer."""
        self._over = True
        self._since = time.monotonic()
        if self._transport.is_closing():
            return
        if linger and self._transport.can_write_eof():
            self._transport.write_eof()
            if self._paused:
                self._transport.resume_reading()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
        else:
            self._transport.close()

    def _release(self, size: int) -> None:
        size = min(size, self._held)
        self._held -= size
        self._handler.held -= size

    # Time limits

    def sweep(self, now: float) -> None:
        """Ends activities that take too long."""
        waited = now - self._since
        if self._current is not None:
            return
        if self._unsent or self._over or self._transport.is_closing():
            left = self._transport.get_write_buffer_size()
            if left < self._unread:
                self._since = now  # it reads, however slowly
            elif waited > UNREAD_SECONDS:
                self._transport.abort()
            self._unread = left
        elif self._in_message:
            allowed = HEAD_SECONDS + (self._size / SLOWEST if self._head_done else 0.0)
            if waited > allowed:
                self._fail(408, f"The request did not come whole within {waited:.0f} seconds.")
        elif waited > IDLE_SECONDS or self._handler.closing:
            self._end(linger=False)

    @property
    def is_idle(self) -> bool:
        """True when no request is complete, not even its head, and no answer is pending."""
        return self._current is None and not self._early and not self._over and not self._head_done

    def make_way(self) -> None:
        """Closes the connection to make room for another."""
        if self._in_message:
            self._last(busy("The service has as many connections as it can have."))
        else:
            self._end(linger=False)

    def drain(self) -> None:
        """The service is about to end: closes an idle connection now, a busy one after its answer."""
        if self._current is None and not self._in_message and not self._over:
            self._end(linger=False)


def _without_upgrade(data: bytes) -> bytes:
    """A request without its upgrade header: with it, the parser would read the body as the other protocol."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-grade:", head) + end + rest


def _nobody(exchange: Exchange, answer: Answer) -> None:
    """Delivers to nobody: the answer was written already."""
