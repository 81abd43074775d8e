"""uvicorn's HTTP protocol with two short cuts for large bodies, both past the event loop: an answer's file goes to the socket
inside the kernel, and a request's body comes from the socket to the file in the thread that stores it.

The first is ASGI's own extension `http.response.zerocopysend`. The second, `roost.body`, is ours: `take()` gives the body as
an `Inflow` for another thread, or None where it has to come the usual way. `api/answers.py` and `api/bodies.py` use them.
"""

import asyncio
import logging
import os
import select
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from roost.blobs.copying import pour, write_all

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

log = logging.getLogger("roost.server")

_STEP = 4 * 1024 * 1024
_PIECE = (
    256 * 1024
)  # stays in the processor's cache from the socket to the disk: larger ones take several times as long
_STALLED_SECONDS = 120.0
"""After which a peer that sends or takes nothing is given up."""
_LOOK_SECONDS = 0.5


class Protocol(HttpToolsProtocol):
    """Give it to uvicorn as its `http`."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, _with_short_cuts(cycle, app))


def _with_short_cuts(cycle: RequestResponseCycle, app: App) -> Any:
    async def with_short_cuts(scope: Message, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] != "http.response.zerocopysend":
                return await send(message)
            try:
                sent = await _send_file(cycle, message["file"], message["offset"], message["count"])
            except (ConnectionError, TimeoutError) as error:  # as with uvicorn's own: who left is sent nothing more
                log.debug("%s %s: the reader left (%r)", scope["method"], scope["path"], error)
                cycle.disconnected = True
                return cycle.transport.abort()
            cycle.expected_content_length -= sent
            return await send({"type": "http.response.body", "body": b"", "more_body": message.get("more_body", False)})

        extensions = scope.setdefault("extensions", {})
        extensions["http.response.zerocopysend"] = {}
        extensions["roost.body"] = {"take": lambda: _take_body(cycle)}
        await app(scope, receive, sending)
        if cycle.response_started and not cycle.response_complete and not cycle.disconnected:
            cycle.disconnected = True  # broken off, and the guard has logged why: uvicorn need not log that it was
            cycle.transport.close()

    return with_short_cuts


async def _send_file(cycle: RequestResponseCycle, file: int, offset: int, count: int) -> int:
    """Sends a part of a file after whatever was written before; how many bytes. ConnectionError when the reader
    is gone, TimeoutError when it takes nothing any more, another OSError when the file cannot be read."""
    transport, loop = cycle.transport, asyncio.get_running_loop()
    while transport.get_write_buffer_size() and not cycle.disconnected:
        await asyncio.sleep(0)
    if cycle.disconnected:  # its socket is closed, and the number may be another's by now
        raise ConnectionResetError("The reader is gone.")
    done = 0
    target = os.dup(transport.get_extra_info("socket").fileno())
    try:
        while done < count:
            if cycle.disconnected:
                raise ConnectionResetError("The reader is gone.")
            try:
                got = await loop.run_in_executor(
                    None, os.sendfile, target, file, offset + done, min(_STEP, count - done)
                )
            except BlockingIOError:
                await _writable(loop, target)
                continue
            if not got:
                raise OSError(f"The file ended after {done} of {count} bytes.")
            done += got
    finally:
        os.close(target)
    return done


async def _writable(loop: asyncio.AbstractEventLoop, target: int) -> None:
    ready = asyncio.Event()
    loop.add_writer(target, ready.set)
    try:
        async with asyncio.timeout(_STALLED_SECONDS):
            await ready.wait()
    finally:
        loop.remove_writer(target)


def _take_body(cycle: RequestResponseCycle) -> "Incoming | None":
    """The rest of a body whose length is known, read past the parser; the connection therefore ends with the answer."""
    length = next((value for name, value in cycle.scope["headers"] if name == b"content-length"), b"")
    if not cycle.more_body or not length.isdigit():
        return None
    cycle.flow.pause_reading()
    if cycle.waiting_for_100_continue:
        cycle.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        cycle.waiting_for_100_continue = False
    begun, cycle.body = bytes(cycle.body), bytearray()
    cycle.more_body = cycle.keep_alive = False
    source = socket.socket(fileno=os.dup(cycle.transport.get_extra_info("socket").fileno()))
    return Incoming(source, begun, int(length) - len(begun), cycle.transport.is_closing)


class Incoming(Iterator[bytes | memoryview]):
    """A body on its way: each piece is good until the next is asked for. ClientDisconnect when not all of it came."""

    def __init__(self, source: socket.socket, begun: bytes, left: int, given_up: Callable[[], bool]) -> None:
        self._source, self._begun, self._left, self._given_up = source, begun, left, given_up
        self._buffer = memoryview(bytearray(_PIECE))
        self._ready = select.poll()
        self._ready.register(source, select.POLLIN)
        source.setblocking(False)

    def __next__(self) -> bytes | memoryview:
        if self._begun:
            begun, self._begun = self._begun, b""
            return begun
        if not self._left:
            self.close()
            raise StopIteration
        while True:
            try:
                got = self._source.recv_into(self._buffer[: min(self._left, _PIECE)])
            except BlockingIOError:
                self._wait()
                continue
            if not got:
                self._give_up()
            self._left -= got
            return self._buffer[:got]

    def pour(self, target: int, progress: Callable[[int], object]) -> int:
        """All that has not been asked for yet, to the end of an open file; how many bytes."""
        count = len(self._begun) + self._left
        if self._begun:
            write_all(target, self._begun)
            progress(len(self._begun))
        self._begun = b""

        def taken(got: int) -> None:  # written or not: who waits for them later waits in vain
            self._left -= got

        pour(self._source, target, self._left, self._wait, progress, taken)
        if self._left:
            self._give_up()
        self.close()
        return count

    def close(self) -> None:
        self._source.close()
        self._left = 0

    def _wait(self) -> None:
        quiet = 0.0
        while quiet < _STALLED_SECONDS and not self._given_up():
            if self._ready.poll(_LOOK_SECONDS * 1000):
                return
            quiet += _LOOK_SECONDS
        self._give_up()

    def _give_up(self) -> NoReturn:
        self.close()
        raise ClientDisconnect
