"""Wake-ups inside one process: whoever changes something rings a topic, whoever waits for it wakes at once.

Usable from threads (`Bell.wait`) and from asyncio (`Bell.wait_async`). Listen first, look second, wait third: then no
change can fall between the look and the wait. `close` wakes everybody for good, so that a server can end promptly.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CONTROL = "control"
"""The control loop has something to do."""


def run_topic(run_id: str) -> str:
    """Rung when a run's revision or one of its streams changes."""
    return f"run/{run_id}"


def gang_topic(run_id: str) -> str:
    """Rung when one of a run's agents is ready to start, or has a command for another."""
    return f"gang/{run_id}"


def compute_topic(workspace: str, name: str) -> str:
    """Rung when a compute target's settings or one of its nodes changes."""
    return f"compute/{workspace}/{name}"


def endpoint_topic(workspace: str, name: str) -> str:
    """Rung when an endpoint's revision changes, and when it is gone."""
    return f"endpoint/{workspace}/{name}"


class Bell:
    """One listener's own bell; rung before the wait, the wait returns at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rung = False
        self._wake: Callable[[], None] | None = None

    def ring(self) -> None:
        with self._lock:
            self._rung = True
            wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def wait(self, seconds: float) -> bool:
        """In a thread: until rung, or the time is over. Whether it was rung; it is silent again afterwards."""
        event = threading.Event()
        if not self._arm(event.set):
            event.wait(max(seconds, 0))
        return self._disarm()

    async def wait_async(self, seconds: float) -> bool:
        """In asyncio: likewise, holding no thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop has ended, and with it whoever waited
                return

        try:
            if not self._arm(wake):
                await asyncio.wait_for(future, max(seconds, 0))
        except TimeoutError:
            pass
        finally:
            rung = self._disarm()
        return rung

    def _arm(self, wake: Callable[[], None]) -> bool:
        with self._lock:
            if not self._rung:
                self._wake = wake
            return self._rung

    def _disarm(self) -> bool:
        with self._lock:
            rung, self._rung, self._wake = self._rung, False, None
        return rung


class Signals:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: dict[str, set[Bell]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @contextmanager
    def listen(self, topic: str) -> Iterator[Bell]:
        bell = Bell()
        with self._lock:
            self._bells.setdefault(topic, set()).add(bell)
            closed = self._closed
        if closed:
            bell.ring()
        try:
            yield bell
        finally:
            with self._lock:
                bells = self._bells[topic]
                bells.discard(bell)
                if not bells:
                    del self._bells[topic]

    def ring(self, *topics: str) -> None:
        with self._lock:
            bells = [bell for topic in topics for bell in self._bells.get(topic, ())]
        for bell in bells:
            bell.ring()

    def waiting(self, topic: str) -> int:
        """How many listen to a topic."""
        with self._lock:
            return len(self._bells.get(topic, ()))

    def close(self) -> None:
        """Wakes everybody, now and from now on. Safe to call twice."""
        with self._lock:
            self._closed = True
            bells = [bell for group in self._bells.values() for bell in group]
        for bell in bells:
            bell.ring()
