"""Bodies: read with a limit, never more in memory than that; JSON becomes a record of the domain or is refused."""

import asyncio
import contextlib
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Annotated, NoReturn, TypeVar

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from roost.domain import codec
from roost.domain.errors import InvalidInput, TooLarge

T = TypeVar("T")
MEGABYTE = 1024 * 1024
JSON_LIMIT = 8 * MEGABYTE
FILES_LIMIT = 32 * MEGABYTE
SPOOL_LIMIT = 16 * MEGABYTE
STREAM_LIMIT = 16 * MEGABYTE
BATCH_LIMIT = 64 * MEGABYTE
_GATHER = 256 * 1024


def _limited(limit: int) -> Callable[[Request], Awaitable[bytes]]:
    async def read(request: Request) -> bytes:
        _check_length(request, limit)
        pieces: list[bytes] = []
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                _refuse(limit)
            pieces.append(piece)
        return b"".join(pieces)

    return read


def _check_length(request: Request, limit: int) -> None:
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        _refuse(limit)


def _refuse(limit: int) -> NoReturn:
    raise TooLarge(f"The body is larger than this route takes: {limit} bytes.", hint="Send it in smaller pieces.")


JsonBytes = Annotated[bytes, Depends(_limited(JSON_LIMIT))]
FilesBytes = Annotated[bytes, Depends(_limited(FILES_LIMIT))]
SpoolBytes = Annotated[bytes, Depends(_limited(SPOOL_LIMIT))]
StreamBytes = Annotated[bytes, Depends(_limited(STREAM_LIMIT))]
BatchBytes = Annotated[bytes, Depends(_limited(BATCH_LIMIT))]


def record(cls: type[T], body: bytes) -> T:
    """The record that a JSON body holds; an empty body is an empty object."""
    try:
        data = json.loads(body or b"{}", parse_constant=_no_constant, parse_float=_finite)
        if b"\\ud" in body.lower():  # half of a character that takes two is no text, and cannot be stored
            json.dumps(data, ensure_ascii=False).encode()
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The body is not JSON: {error}.") from None
    return codec.decode(cls, data)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidInput(f"The body holds a number that is too large: {digits[:40]}.")
    return number


def _no_constant(word: str) -> NoReturn:
    raise InvalidInput(f"The body holds {word}, which JSON has no word for.")


async def hand_over(request: Request, take: Callable[[Iterable[bytes | memoryview]], T]) -> T:
    """Gives a body, as it arrives, to `take` in a thread: piece by piece, each good until the next is asked for, never the whole
    in memory. Where the server can (`server/protocol.py`), that thread reads it from the socket itself."""
    short_cut = request.scope.get("extensions", {}).get("roost.body")
    pieces = (short_cut["take"]() if short_cut else None) or _gathered(request)

    def work() -> T:
        try:
            return take(pieces)
        finally:  # an answer would not reach a client that is still sending
            with contextlib.suppress(ClientDisconnect):
                for _ in pieces:
                    pass

    try:
        return await run_in_threadpool(work)
    except ClientDisconnect:
        raise InvalidInput("The body ended before all of it had come.") from None


def _gathered(request: Request) -> Iterator[bytes]:
    """What the event loop receives, for another thread. While one piece is worked on, the next is gathered."""
    loop = asyncio.get_running_loop()
    source = request.stream()

    async def gather() -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in source:
            pieces.append(piece)
            size += len(piece)
            if size >= _GATHER:
                break
        return b"".join(pieces)

    def pieces() -> Iterator[bytes]:
        coming = asyncio.run_coroutine_threadsafe(gather(), loop)
        try:
            while piece := coming.result():
                coming = asyncio.run_coroutine_threadsafe(gather(), loop)
                yield piece
        finally:
            coming.cancel()

    return pieces()
