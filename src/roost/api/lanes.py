"""Threads for requests, in lanes: people's reads, people's changes and the requests of agents each have their own threads and a
short queue, so that none waits behind the others. A request that finds its queue full is refused at once (`Busy`, 503 with
`Retry-After`), which costs next to nothing; clients obey it.

Only this module gives work of a request to threads; `bodies.py` has threads of its own for bodies that are arriving.
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
    """A number of threads with a queue in front. For one event loop."""

    def __init__(self, whose: str, *, threads: int, queue: int) -> None:
        self._whose = whose
        self._room = threads + queue
        self._queue = queue
        self._inside = 0
        self._threads = CapacityLimiter(threads)

    async def run(self, deed: Callable[[], T]) -> T:
        """Runs the deed in a thread of this lane and returns its value. Busy when too many wait already."""
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
        """Sets the lane of the current request."""
        _own.set(self.agents if caller.is_run else self.reads if method in ("GET", "HEAD") else self.changes)


_own: ContextVar[Lane | None] = ContextVar("lane", default=None)


async def run(deed: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs the deed in a thread of the request's lane; in a common thread before the caller is known."""
    lane = _own.get()
    return await (lane.run if lane else to_thread.run_sync)(lambda: deed(*args, **kwargs))


def in_thread(endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Makes a blocking endpoint run in its request's lane."""
    if iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        return await run(endpoint, *args, **kwargs)

    return inside
