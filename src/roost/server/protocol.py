"""uvicorn's HTTP protocol with two short cuts for large bodies, both past the event loop: an answer's file goes to the socket
inside the kernel, and a request's body is read from the socket by the thread that stores it.

The first is ASGI's own extension `http.response.zerocopysend`. The second, `roost.body`, is ours: `take()` gives the body as
pieces for another thread, or None where it has to come the usual way. `api/answers.py` and `api/bodies.py` use what there is.
"""

import asyncio
import contextlib
import os
import select
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

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
            cycle.expected_content_length -= await _send_file(
                cycle, message["file"], message["offset"], message["count"]
            )
            return await send({"type": "http.response.body", "body": b"", "more_body": message.get("more_body", False)})

        extensions = scope.setdefault("extensions", {})
        extensions["http.response.zerocopysend"] = {}
        extensions["roost.body"] = {"take": lambda: _take_body(cycle)}
        await app(scope, receive, sending)

    return with_short_cuts


async def _send_file(cycle: RequestResponseCycle, file: int, offset: int, count: int) -> int:
    """Sends a part of a file after whatever was written before; how many bytes. OSError when the reader is gone."""
    transport, loop = cycle.transport, asyncio.get_running_loop()
    while transport.get_write_buffer_size() and not cycle.disconnected:
        await asyncio.sleep(0)
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


def _take_body(cycle: RequestResponseCycle) -> Iterator[memoryview] | None:
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
    return _pieces(source, begun, int(length), cycle.transport.is_closing)


def _pieces(source: socket.socket, begun: bytes, length: int, given_up: Callable[[], bool]) -> Iterator[memoryview]:
    """Each piece is good until the next is asked for. ClientDisconnect when the peer is gone before all of them came."""
    source.setblocking(False)
    ready, buffer, left = select.poll(), memoryview(bytearray(_PIECE)), length - len(begun)
    ready.register(source, select.POLLIN)

    def read() -> memoryview:
        quiet = 0.0
        while quiet < _STALLED_SECONDS and not given_up():
            with contextlib.suppress(BlockingIOError):
                got = source.recv_into(buffer[: min(left, _PIECE)])
                if not got:
                    break
                return buffer[:got]
            quiet = 0.0 if ready.poll(_LOOK_SECONDS * 1000) else quiet + _LOOK_SECONDS
        raise ClientDisconnect

    with source:
        yield memoryview(begun)
        while left:
            piece = read()
            left -= len(piece)
            yield piece
