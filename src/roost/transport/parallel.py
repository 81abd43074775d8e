"""Applies a function to many things in several threads, and ends soon after Ctrl-C."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

Look = Callable[[], None]
"""Called during long work; raises to end it once it is not wanted any more."""

T = TypeVar("T")
R = TypeVar("R")

_END_SECONDS = 0.8
"""How long an interrupted caller waits for the threads, which end with their next look."""


class _Over(Exception):
    """The work is not wanted any more."""


def in_parallel(deed: Callable[[T, Look], R], things: Sequence[T], at_once: int, name: str) -> list[R]:
    """The results of `deed`, in the order of `things`. After an error, or an interrupt of the caller's thread, no further call
    starts, and running ones end at their next look. An executor would instead complete the calls it has started."""
    left, made = deque(enumerate(things)), dict[int, R]()
    ended, over = queue.SimpleQueue[BaseException | None](), threading.Event()

    def look() -> None:
        if over.is_set():
            raise _Over

    def work() -> None:
        try:
            while left and not over.is_set():
                try:
                    place, thing = left.popleft()
                except IndexError:  # another thread was faster
                    break
                made[place] = deed(thing, look)
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            ended.put(error)
        else:
            ended.put(None)

    threads = [threading.Thread(target=work, name=f"{name}-{place}", daemon=True) for place in range(at_once)]
    threads = threads[: len(things)]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            if (error := ended.get()) is not None:
                raise error
    except BaseException as error:
        over.set()
        _wait(threads, None if isinstance(error, Exception) else _END_SECONDS)
        raise
    return [made[place] for place in range(len(things))]


def _wait(threads: Sequence[threading.Thread], seconds: float | None) -> None:
    deadline = None if seconds is None else time.monotonic() + seconds
    for thread in threads:
        if thread.ident is not None:  # it was started
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
