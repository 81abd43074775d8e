"""Connections: how many may be open, and how long one may take to send the head of a request or leave its answer unread.

`Room` is shared by all connections of a server; `Connection` is uvicorn's protocol with these limits. When another connection
needs a place, the oldest one without a request in progress is closed, so that idle clients block nobody.
"""

import json
import resource
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from roost.domain.errors import Busy, InvalidInput, RoostError, TooLarge, TooSlow, as_wire

MOST = 4096
HEAD_SECONDS = 20.0
"""The longest time from the first byte of a request to the last of its headers."""
HEAD_BYTES = 64 * 1024
IDLE_SECONDS = 75.0
"""How long a connection may be open without a request in progress."""
OWED_SECONDS = 10.0
"""How long the rest of a body may take whose request was answered before all of it arrived."""
UNREAD_SECONDS = 120.0
"""How long a client may read nothing of its answer."""
LINGER_SECONDS = 1.0
_MOST_LINGERING = 64
_OPEN_FILES = 16384
_FILES_APART = 512
"""Open files of everything else: the database, the log, child processes."""
_FILES_EACH = 3
"""Open files of a connection that receives a body: its socket, the copy that the storing thread reads, and the file that is
written."""
_LOOPBACK = ("127.", "::1")


def room_for_connections() -> "Room":
    """The places that the limit of open files allows. Raises that limit as far as needed, and no further, because child processes
    inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
        soft = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return Room(MOST)
    return Room(max(16, min(MOST, (soft - _FILES_APART) // _FILES_EACH)))


class Room:
    """The places for connections. Belongs to the event loop's thread."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.lingering = 0
        self._inside: dict[Connection, str] = {}
        """Every connection, with its address."""
        self._waiting: dict[Connection, None] = {}
        """Connections without a request in progress, the longest idle first."""
        self._of_address: Counter[str] = Counter()

    def enter(self, connection: "Connection", address: str) -> bool:
        """False when there is no place. One address gets at most half of the places, except this machine's own, which all its
        clients share."""
        own = address.startswith(_LOOPBACK)
        if not own and self._of_address[address] >= self.most // 2 and not self._close_one(address):
            return False
        if len(self._inside) >= self.most and not self._close_one(None):
            return False
        self._inside[connection] = address
        self._waiting[connection] = None
        self._of_address[address] += 1
        return True

    def leave(self, connection: "Connection") -> None:
        self._waiting.pop(connection, None)
        address = self._inside.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def set_waiting(self, connection: "Connection", waiting: bool) -> None:
        self._waiting.pop(connection, None)
        if waiting and connection in self._inside:
            self._waiting[connection] = None

    def is_waiting(self, connection: "Connection") -> bool:
        return connection in self._waiting

    def _close_one(self, address: str | None) -> bool:
        chosen = (each for each in self._waiting if address is None or self._inside[each] == address)
        oldest = next(chosen, None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.make_way()
        return True


class State(ServerState):
    """uvicorn's state, with the room."""

    def __init__(self, room: Room) -> None:
        super().__init__()
        self.room = room


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with time limits. `sweep` must be called about once a second."""

    def __init__(self, config: Any, server_state: ServerState, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(server_state, State)
        self._room = server_state.room
        self._over = False
        """True once the last answer was written; further input is dropped."""
        self._in_head = False
        self._head_bytes = 0
        self._body_is_open = False
        self._since = self._moved = self.loop.time()
        """`_since`: when the present state began; `_moved`: when the client last read a part of an answer."""
        self._unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if not self._room.enter(self, self.client[0] if self.client else ""):
            self._refuse(_full(self._room.most))

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(TooLarge(f"The head of the request has more than {HEAD_BYTES} bytes."), 431)

    # Called by the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes, self._since = True, 0, self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head, self._body_is_open = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._body_is_open = False
        super().on_message_complete()

    # Called by uvicorn

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._room.set_waiting(self, False)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no further request is waiting already
            self._since = self.loop.time()
            self._room.set_waiting(self, True)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 uvicorn's message adds nothing
        self._refuse(InvalidInput("What was sent is not HTTP/1.1."))

    # How a connection ends

    def make_way(self) -> None:
        """Closes it to make room for another."""
        if self._in_head:
            self._refuse(_full(self._room.most))
        else:
            self.transport.close()

    def sweep(self, now: float) -> None:
        """Closes the connection when it exceeds a time limit."""
        left = self.transport.get_write_buffer_size()
        if not left or left < self._unread:
            self._moved = now
        elif now - self._moved > UNREAD_SECONDS:
            self.transport.abort()
        self._unread = left
        if self._over or self.transport.is_closing():
            return
        waited = now - self._since
        if self._in_head:
            if waited > HEAD_SECONDS:
                self._refuse(TooSlow(f"The head of the request did not come whole within {HEAD_SECONDS:.0f} seconds."))
        elif self._room.is_waiting(self) and waited > (OWED_SECONDS if self._body_is_open else IDLE_SECONDS):
            self.transport.close()

    def _refuse(self, error: RoostError, status: int | None = None) -> None:
        """Sends the last answer of this connection, to a request that reached no route."""
        if self._over:
            return
        self._over = True
        self._room.leave(self)
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # another answer is being sent
            return
        self.transport.write(_answer(error, status or error.http_status))
        if self._room.lingering >= _MOST_LINGERING or not self.transport.can_write_eof():
            self.transport.close()
            return
        # Input is dropped for a moment: closing with unread bytes would reset the connection before the client reads the answer.
        self.transport.write_eof()
        self._room.lingering += 1
        self.loop.call_later(LINGER_SECONDS, self._end_lingering)

    def _end_lingering(self) -> None:
        self._room.lingering -= 1
        self.transport.abort()


def _full(most: int) -> Busy:
    return Busy(
        f"The control plane has {most} connections, as many as it can have at once.", hint="Try again in a moment."
    )


def _answer(error: RoostError, status: int) -> bytes:
    body = json.dumps(as_wire(error)).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
        *(["retry-after: 1"] if isinstance(error, Busy) else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
