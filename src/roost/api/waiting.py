"""Long polls: read, and while there is nothing new wait for the topic's next notification. No thread is held meanwhile."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self, TypeVar

from fastapi import Request

from roost.api import lanes
from roost.domain.people import Caller
from roost.services import runs
from roost.services.context import Context
from roost.services.signals import Listener, run_topic

T = TypeVar("T")
LONGEST = 30.0
"""The longest poll in seconds."""
LONGEST_HEARTBEAT = 25.0
"""The longest heartbeat. While it is open its agent counts as alive: the kernel closes the connection of a killed one."""
LONGEST_MEMBER_HEARTBEAT = 5.0
"""The longest heartbeat of a gang's agent, which counts as alive only when it sends."""
FLUSH_SECONDS = 2.0
"""How long a reader of a log waits for the agent to send the last lines."""


async def until(
    context: Context,
    topic: str,
    seconds: float,
    look: Callable[[], T],
    enough: Callable[[T], bool],
    left: "Departure | None" = None,
) -> T:
    """Returns the value of `look` once it is `enough`, or when the time is over, the server ends or the caller has `left`."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + min(seconds, LONGEST)
    with context.signals.listen(topic) as listener:
        if left is not None:
            left.tell(listener)
        while True:
            seen = await lanes.run(look)
            rest = deadline - clock()
            if enough(seen) or rest <= 0 or context.signals.closed or (left is not None and left.noticed):
                return seen
            await listener.wait_async(rest)


class Departure:
    """Detects that the caller's connection was closed during the wait."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._bell: Listener | None = None
        self.noticed = False

    def tell(self, listener: Listener) -> None:
        """Sets the listener to notify."""
        self._bell = listener

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _watch(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.noticed = True
        if self._bell is not None:
            self._bell.notify()


async def flushed(context: Context, caller: Caller, run_id: str) -> None:
    """Asks the run's agent to send everything written so far, and returns when it has arrived, when the run has ended, or after
    FLUSH_SECONDS."""
    mark = context.flushes.ask(run_id)
    context.signals.notify(run_topic(run_id))

    def over() -> bool:
        return not context.flushes.is_open(run_id, mark) or runs.get(context, caller, run_id).status.is_terminal

    try:
        await until(context, run_topic(run_id), FLUSH_SECONDS, over, bool)
    finally:
        context.flushes.drop(run_id, mark)
