"""Long polls: look, and while there is nothing new sleep until the topic's bell rings. No thread is held meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from roost.services.house import House

T = TypeVar("T")
LONGEST = 30.0
"""Seconds a poll may last."""
LONGEST_HEARTBEAT = 5.0
"""A heartbeat is answered sooner, so that a living agent is never unheard for long."""


async def until(house: House, topic: str, seconds: float, look: Callable[[], T], enough: Callable[[T], bool]) -> T:
    """What `look` gives as soon as it is `enough`, or when the time is over or the server ends."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + min(seconds, LONGEST)
    with house.signals.listen(topic) as bell:
        while True:
            seen = await run_in_threadpool(look)
            left = deadline - clock()
            if enough(seen) or left <= 0 or house.signals.closed:
                return seen
            await bell.wait_async(left)
