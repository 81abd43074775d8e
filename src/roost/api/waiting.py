"""Long polls: look, and while there is nothing new sleep until the topic's bell rings. No thread is held meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from roost.services import runs
from roost.services.house import House
from roost.services.signals import run_topic

T = TypeVar("T")
LONGEST = 30.0
"""Seconds a poll may last."""
LONGEST_HEARTBEAT = 5.0
"""A heartbeat is answered sooner, so that a living agent is never unheard for long."""
FLUSH_SECONDS = 2.0
"""That who reads a log waits for the agent to send the last of it."""


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


async def flushed(house: House, run_id: str) -> None:
    """Returns when what the run has written by now is here: its agent is asked for it. Not later than its end, nor than
    FLUSH_SECONDS, whoever does not answer."""
    mark = house.flushes.ask(run_id)
    house.signals.ring(run_topic(run_id))

    def over() -> bool:
        return not house.flushes.is_open(run_id, mark) or runs.get(house, run_id).status.is_terminal

    try:
        await until(house, run_topic(run_id), FLUSH_SECONDS, over, bool)
    finally:
        house.flushes.drop(run_id, mark)
