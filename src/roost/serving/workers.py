"""A connection to a worker: sends requests, a few ahead of its work; receives answers; reports the requests that a lost worker
leaves.

The worker starts requests in the order in which they were sent, so the oldest `concurrency` without an answer are in work.
"""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import stat
import struct
import time
from typing import Any, Protocol, cast

from roost.serving.exchanges import JSON_TYPE, Answer, Exchange, refusal
from roost_job.scoring import frames
from roost_job.scoring.worker import PLAIN_HEAD

log = logging.getLogger("roost.serving")
KILL_SECONDS = 2.0
"""Time from an ABORT, which a worker that holds the interpreter's lock cannot read, to SIGKILL."""
_AHEAD = ((0.002, 16), (0.02, 4), (0.1, 1))
"""Number of requests that are sent ahead, by the seconds that one takes: it hides the transfer time, which matters for short
ones."""
_AHEAD_BYTES = 1 << 20
_WHY_BYTES = 500
_PEER = struct.Struct("3i")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_OWN_HEADERS = {
    "connection",
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "date",
    "server",
    "upgrade",
    "trailer",
}


class Pool(Protocol):
    """The owner of a link: the queue of a version."""

    with_key: bool

    @property
    def concurrency(self) -> int: ...
    def link_ready(self, link: "WorkerLink") -> None: ...
    def link_free(self, link: "WorkerLink") -> None: ...
    def link_lost(self, link: "WorkerLink", left: list[Exchange]) -> None: ...
    def link_returned(self, exchange: Exchange) -> None: ...
    def link_collected(self, link: "WorkerLink", body: bytes) -> None: ...


class WorkerLink(asyncio.Protocol):
    """The connection to one worker. Belongs to the loop's thread."""

    def __init__(self, path: str, run: str, pool: Pool) -> None:
        self.path = path
        self.run = run
        self.replica_header = (b"x-roost-replica", run.encode("ascii", "replace"))
        self.pool = pool
        self.ready = False
        self.leaving = False
        """True when it gets nothing more; it is closed once it has answered its requests."""
        self.hello: dict[str, Any] = {}
        self.pid = 0
        self.sent: dict[int, Exchange] = {}
        self.failure = ""
        self._numbers = 0
        self._seconds = 1.0
        self._bytes = 0
        self._congested = False
        self._giving_up: Exchange | None = None
        self._outgoing: list[bytes] = []
        self._unpacker = frames.Unpacker()
        self._transport: asyncio.Transport | None = None

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it
        sock = transport.get_extra_info("socket")
        self.pid = _PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]

    def data_received(self, data: bytes) -> None:
        try:
            for kind, number, head, body in self._unpacker.feed(data):
                if kind == frames.RESPONSE:
                    self._responded(number, head, body)
                elif kind == frames.RETURNED:
                    self._returned(number)
                elif kind == frames.HELLO and not self.ready:
                    self.hello = frames.head_of(head)
                    self.ready = True
                    self.pool.link_ready(self)
                elif kind == frames.COLLECTED:
                    self.pool.link_collected(self, body)
                elif kind == frames.STOP:
                    self.leave()
        except frames.BadFrame as error:
            self.failure = f"The worker at {self.path} sent what is no frame: {error}."
            log.error(self.failure)
            self._hang_up()
            return
        if self.sent or self.room:
            self.pool.link_free(self)

    def connection_lost(self, _: Exception | None) -> None:
        self.ready = False
        left, self.sent = list(self.sent.values()), {}
        for exchange in left:
            exchange.worker = None
            exchange.tries += exchange.started > 0
        self._transport = None
        self.pool.link_lost(self, left)

    def pause_writing(self) -> None:
        self._congested = True

    def resume_writing(self) -> None:
        self._congested = False
        self.pool.link_free(self)

    def leave(self) -> None:
        """Sends nothing more; waits for the pending answers."""
        self.leaving = True
        if not self.sent:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # Requests

    @property
    def concurrency(self) -> int:
        """The worker's value at its start, even when the version has a higher one by now."""
        return min(self.pool.concurrency, int(self.hello.get("concurrency") or 1))

    @property
    def room(self) -> int:
        """The number of further requests that it may be sent; ahead of its work only while they are short and small."""
        if not self.ready or self.leaving or self._congested or self._giving_up is not None:
            return 0
        ahead = 0
        if self._bytes < _AHEAD_BYTES:
            ahead = next((count for seconds, count in _AHEAD if self._seconds < seconds), 0)
        return self.concurrency + ahead - len(self.sent)

    def send(self, exchange: Exchange) -> None:
        self._numbers += 1
        exchange.number = self._numbers
        exchange.worker = self
        exchange.recalled = False
        exchange.started = time.monotonic() if len(self.sent) < self.concurrency else 0.0
        self.sent[exchange.number] = exchange
        self._bytes += len(exchange.body)
        head = exchange.head(with_key=self.pool.with_key)
        if not self._outgoing:  # all requests of one turn of the loop go out in one write
            asyncio.get_running_loop().call_soon(self._flush)
        if len(exchange.body) < frames.LARGE:
            self._outgoing.append(frames.pack_raw(frames.REQUEST, exchange.number, head, exchange.body))
            return
        self._outgoing.append(frames.opening(frames.REQUEST, exchange.number, head, len(exchange.body)))
        self._flush()
        if self._transport is not None:
            self._transport.write(exchange.body)

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if self._transport is not None and outgoing:
            self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    def recall(self, exchange: Exchange) -> None:
        """Recalls a request that was sent ahead; it comes back through the pool's `link_returned` unless it was started
        meanwhile."""
        if self._transport is not None and not exchange.recalled:
            exchange.recalled = True
            self._flush()
            self._transport.write(frames.pack(frames.RECALL, exchange.number))

    def give_up(self, exchange: Exchange) -> None:
        """Ends the worker because of this request: it exits itself or is killed."""
        if self._transport is None or self._giving_up is not None:
            return
        self._giving_up = exchange
        self._flush()
        self._transport.write(frames.pack(frames.ABORT, exchange.number))
        asyncio.get_running_loop().call_later(KILL_SECONDS, self._kill, exchange)

    def _kill(self, exchange: Exchange) -> None:
        if self._transport is None or self._giving_up is not exchange:
            return
        if self.pid <= 1:  # the system gives no pid for the socket, and the worker's own word cannot be trusted
            log.warning("The worker %s did not leave by itself: its connection is closed.", self.path)
            self._transport.abort()
            return
        log.warning("The worker %s (process %d) did not leave by itself: killed.", self.path, self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError as error:
            log.error("The worker %s (process %d) could not be killed: %s.", self.path, self.pid, error)
            self._transport.abort()

    # Answers

    def _responded(self, number: int, head: bytes, body: bytes) -> None:
        exchange = self.sent.get(number)
        if exchange is None:
            return
        self._forget(exchange)
        if self._giving_up is exchange:
            self._giving_up = None
        if exchange.answered:
            return
        exchange.answer(answer_of(head, body))

    def _returned(self, number: int) -> None:
        exchange = self.sent.get(number)
        if exchange is not None:
            self._forget(exchange)
            exchange.worker = None
            exchange.started = 0.0
            self.pool.link_returned(exchange)

    def _forget(self, exchange: Exchange) -> None:
        """Removes an exchange; the next one that was sent ahead is now in work."""
        del self.sent[exchange.number]
        self._bytes -= len(exchange.body)
        if exchange.started:
            now = time.monotonic()
            self._seconds += 0.1 * (now - exchange.started - self._seconds)
            for other in self.sent.values():
                if not other.started:
                    other.started = now
                    break
        if self.leaving and not self.sent:
            self._hang_up()


def why_ended(path: str) -> str:
    """The note that the agent left beside a worker's socket when it killed the worker; empty for none."""
    try:
        file = os.open(path + frames.ENDED, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(file).st_mode)
        return os.read(file, _WHY_BYTES).decode("utf-8", "replace").strip() if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(file)


def answer_of(head: bytes, body: bytes) -> Answer:
    """A worker's answer, checked for sending: 502 when it is invalid."""
    if head == PLAIN_HEAD:
        return Answer(200, body, [JSON_TYPE])
    try:
        said = json.loads(head)
        status = int(said["status"])
        pairs = [
            (name.lower(), text)
            for name, value in dict(said.get("headers") or {}).items()
            for text in (value if isinstance(value, list) else [value])
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return refusal(502, "The model's answer has a head that cannot be read.")
    if not 200 <= status <= 599:
        return refusal(502, f"The model answered with the status {status}, which is none from 200 to 599.")
    headers = [
        (name.encode(), _CONTROLS.sub(" ", str(text)).encode("latin-1", "replace"))
        for name, text in pairs
        if _TOKEN.fullmatch(name) and name not in _OWN_HEADERS
    ]
    return Answer(status, body, headers)
