"""Threads for what requests do, in lanes: what people read, what they change, and what agents send each have threads and a short
queue of their own, so that none of them waits behind the others. A request that finds its queue full is refused at once (`Busy`,
503 with `Retry-After`), which costs next to nothing; clients obey it.

This is the one place that hands work of a request to threads; bodies on their way (`bodies.py`) have theirs.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from roost.domain.errors import Busy
from roost.domain.people import Caller

T = TypeVar("T")
P = ParamSpec("P")


class Lane:
    """So many threads, and a queue of those that wait for one. For one event loop."""

    def __init__(self, whose: str, *, threads: int, queue: int) -> None:
        self._whose = whose
        self._room = threads + queue
        self._queue = queue
        self._inside = 0
        self._threads = CapacityLimiter(threads)

    async def run(self, deed: Callable[[], T]) -> T:
        """What the deed returns, done in a thread of this lane. Busy when too many wait already."""
        if self._inside >= self._room:
            raise Busy(
                f"The control plane has more to do than it can: {self._queue} {self._whose} wait already.",
                hint="Try again in a moment; runs continue meanwhile.",
            )
        self._inside += 1
        try:
            return await to_thread.run_sync(deed, limiter=self._threads)
        finally:
            self._inside -= 1


class Lanes:
    def __init__(self) -> None:
        self.reads = Lane("reads", threads=8, queue=64)
        self.changes = Lane("changes", threads=16, queue=128)
        self.agents = Lane("requests of agents", threads=16, queue=512)

    def choose(self, caller: Caller, method: str) -> None:
        """The lane of the request that is being answered."""
        _own.set(self.agents if caller.is_run else self.reads if method in ("GET", "HEAD") else self.changes)


_own: ContextVar[Lane | None] = ContextVar("lane", default=None)


async def run(deed: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Does it in a thread of the lane that the request has; of the common ones before its caller is known."""
    lane = _own.get()
    return await (lane.run if lane else to_thread.run_sync)(lambda: deed(*args, **kwargs))


def in_thread(endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """An endpoint that blocks, as one that does so in its request's lane."""
    if iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        return await run(endpoint, *args, **kwargs)

    return inside
