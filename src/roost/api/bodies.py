"""Bodies: read with a limit, never more in memory than that; JSON becomes a record of the domain or is refused.

A body that arrives slowly waits on the event loop, or in a thread of its own: never in a thread that answers requests. All bodies
together have a limit too (`BodyLimits`). The server sets the slowest rate (`server/pace.py`).
"""

import asyncio
import contextlib
import json
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Annotated, NoReturn, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from roost.domain import codec
from roost.domain.errors import Busy, InvalidInput, TooLarge, TooSlow
from roost.domain.people import Caller

T = TypeVar("T")
MEGABYTE = 1024 * 1024
JSON_LIMIT = 8 * MEGABYTE
FILES_LIMIT = 32 * MEGABYTE
SPOOL_LIMIT = 16 * MEGABYTE
STREAM_LIMIT = 16 * MEGABYTE
BATCH_LIMIT = 64 * MEGABYTE
HELD_LIMIT = 512 * MEGABYTE
"""The most bytes of all bodies together in memory."""
MOST_STORED = 512
"""The most bodies that are stored while they arrive, each with a thread that mostly waits for its sender."""
MOST_STORED_OF_RUN = 64
QUEUE_SECONDS = 20.0
"""How long one more body waits for its thread: by then the bodies that arrive too slowly have been refused."""
_GATHER = 256 * 1024
_HELD = "roost.held"


class BodyLimits:
    """The memory and threads of all bodies that are arriving. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MOST_STORED)
        self._threads = CapacityLimiter(MOST_STORED)
        self._of_run: Counter[str] = Counter()
        self._held = 0

    def hold(self, scope: Scope, size: int) -> None:
        """Counts `size` more bytes for a request, until `release`; Busy when all bodies together have too many."""
        if self._held + size > HELD_LIMIT:
            raise Busy(
                f"The control plane holds {self._held} bytes of bodies, and takes no more than {HELD_LIMIT} at once.",
                hint="Send it again in a moment.",
            )
        self._held += size
        scope[_HELD] = scope.get(_HELD, 0) + size

    def release(self, scope: Scope) -> None:
        """Call it when the request has been answered."""
        self._held -= scope.pop(_HELD, 0)

    @contextlib.asynccontextmanager
    async def place(self, caller: Caller) -> AsyncIterator[CapacityLimiter]:
        """A place among the bodies that are stored, with its thread; Busy when none is free for too long."""
        run = caller.run_id if caller.is_run else ""
        if run and self._of_run[run] >= MOST_STORED_OF_RUN:
            problem = f"Run {run!r} sends {MOST_STORED_OF_RUN} bodies at once, as many as it may."
            raise Busy(problem, hint="Send fewer at a time.")
        self._of_run[run] += 1
        try:
            await self._wait_for_place()
            try:
                yield self._threads
            finally:
                self._places.release()
        finally:
            self._of_run[run] -= 1
            if not self._of_run[run]:
                del self._of_run[run]

    async def _wait_for_place(self) -> None:
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            problem = f"The control plane stores {MOST_STORED} bodies, as many as it can at once."
            raise Busy(problem, hint="Send it again in a moment.") from None


def limited(limit: int) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency: the body of a request, refused beyond `limit` bytes."""

    async def read(request: Request) -> bytes:
        _check_length(request, limit)
        limits: BodyLimits = request.app.state.limits
        pieces: list[bytes] = []
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                _refuse(limit)
            limits.hold(request.scope, len(piece))
            pieces.append(piece)
        return b"".join(pieces)

    return read


def _check_length(request: Request, limit: int) -> None:
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        _refuse(limit)


def _refuse(limit: int) -> NoReturn:
    raise TooLarge(f"The body is larger than this route takes: {limit} bytes.", hint="Send it in smaller pieces.")


JsonBytes = Annotated[bytes, Depends(limited(JSON_LIMIT))]
FilesBytes = Annotated[bytes, Depends(limited(FILES_LIMIT))]
SpoolBytes = Annotated[bytes, Depends(limited(SPOOL_LIMIT))]
StreamBytes = Annotated[bytes, Depends(limited(STREAM_LIMIT))]
BatchBytes = Annotated[bytes, Depends(limited(BATCH_LIMIT))]


def record(cls: type[T], body: bytes) -> T:
    """The record in a JSON body; an empty body is an empty object."""
    try:
        data = json.loads(body or b"{}", parse_constant=_no_constant, parse_float=_finite)
        if b"\\ud" in body.lower():  # half of a surrogate pair is not text, and cannot be stored
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
    """Passes a body, while it arrives, to `take` in a thread: piece by piece, each valid until the next one is read, never all of
    it in memory. If the server supports it (`server/protocol.py`), that thread reads from the socket itself."""
    limits: BodyLimits = request.app.state.limits
    async with limits.place(request.state.caller) as threads:
        short_cut = request.scope.get("extensions", {}).get("roost.body")
        pieces = (short_cut["take"]() if short_cut else None) or _gathered(request)

        def work() -> T:
            try:
                return take(pieces)
            finally:  # a client that is still sending does not read the answer
                with contextlib.suppress(ClientDisconnect, TooSlow):
                    for _ in pieces:
                        pass

        try:
            return await to_thread.run_sync(work, limiter=threads)
        except ClientDisconnect:
            raise InvalidInput("The body ended before all of it had come.") from None


def _gathered(request: Request) -> Iterator[bytes]:
    """The body from the event loop, for another thread. While one piece is processed, the next is collected."""
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
