"""uvicorn's HTTP protocol with two short cuts for large bodies, both without the event loop: the kernel sends an answer's file to
the socket, and the thread that stores a request's body reads it from the socket.

The first is ASGI's own extension `http.response.zerocopysend`. The second, `roost.body`, is Roost's: `take()` returns the body as
an `Incoming` for another thread, or None when it must be received the usual way. `api/answers.py` and `api/bodies.py` use them.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from roost.domain.errors import TooSlow
from roost.server.connections import Connection
from roost.server.incoming import Incoming
from roost.server.pace import Pace

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

log = logging.getLogger("roost.server")

_STEP = 4 * 1024 * 1024
_STALLED_SECONDS = 120.0
"""A peer that reads nothing for this long is given up."""


class Protocol(Connection):
    """For uvicorn's setting `http`."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, _with_short_cuts(cycle, app))


def _with_short_cuts(cycle: RequestResponseCycle, app: App) -> Any:
    async def with_short_cuts(scope: Message, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] != "http.response.zerocopysend":
                return await send(message)
            try:
                sent = await _send_file(cycle, message["file"], message["offset"], message["count"])
            except (ConnectionError, TimeoutError) as error:  # as in uvicorn: a client that left gets nothing more
                log.debug("%s %s: the reader left (%r)", scope["method"], scope["path"], error)
                cycle.disconnected = True
                return cycle.transport.abort()
            cycle.expected_content_length -= sent
            return await send({"type": "http.response.body", "body": b"", "more_body": message.get("more_body", False)})

        extensions = scope.setdefault("extensions", {})
        extensions["http.response.zerocopysend"] = {}
        extensions["roost.body"] = {"take": lambda: _take_body(cycle)}
        await app(scope, _at_a_pace(cycle, receive), sending)
        if cycle.response_started and not cycle.response_complete and not cycle.disconnected:
            cycle.disconnected = True  # the guard has logged why the answer broke off: uvicorn need not
            cycle.transport.close()

    return with_short_cuts


def _at_a_pace(cycle: RequestResponseCycle, receive: Receive) -> Receive:
    """The body as the event loop receives it; raises TooSlow when it arrives too slowly and no answer has begun."""
    pace, clock = Pace(), asyncio.get_running_loop().time

    async def receiving() -> Message:
        while cycle.more_body and not cycle.message_event.is_set() and not cycle.response_started:
            begun = clock()
            message = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pace.left):
                    message = _counted(await receive(), pace)
                    if not message.get("more_body"):
                        return message
            try:
                pace.waited(clock() - begun)
            except TooSlow:
                cycle.keep_alive = False  # the rest of this body must not be parsed as a request
                raise
            if message is not None:
                return message
        return _counted(await receive(), pace)

    return receiving


def _counted(message: Message, pace: Pace) -> Message:
    pace.came(len(message.get("body", b"")))
    return message


async def _send_file(cycle: RequestResponseCycle, file: int, offset: int, count: int) -> int:
    """Sends a part of a file after the data already written; returns the number of bytes. ConnectionError when the reader has
    left, TimeoutError when it stops reading, another OSError when the file cannot be read."""
    transport, loop = cycle.transport, asyncio.get_running_loop()
    while transport.get_write_buffer_size() and not cycle.disconnected:
        await asyncio.sleep(0)
    if cycle.disconnected:  # its socket is closed, and the descriptor may belong to another by now
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


def _take_body(cycle: RequestResponseCycle) -> Incoming | None:
    """The rest of a body of known length, to be read without the parser; the connection therefore closes after the answer."""
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
