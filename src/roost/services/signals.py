"""Wake-ups inside one process: a change notifies a topic, and every waiter of that topic wakes at once.

Usable from threads (`Listener.wait`) and from asyncio (`Listener.wait_async`). Listen first, read second, wait third: then no
change is lost between the read and the wait. `close` wakes every waiter for good, so that a server can end promptly.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CONTROL = "control"
"""The control loop has something to do."""


def run_topic(run_id: str) -> str:
    """Notified when a run's revision or one of its streams changes."""
    return f"run/{run_id}"


def gang_topic(run_id: str) -> str:
    """Notified when one of a run's agents is ready to start, or has a command for another."""
    return f"gang/{run_id}"


def compute_topic(workspace: str, name: str) -> str:
    """Notified when a compute target's settings or one of its nodes changes."""
    return f"compute/{workspace}/{name}"


def endpoint_topic(workspace: str, name: str) -> str:
    """Notified when an endpoint's revision changes, and when it is gone."""
    return f"endpoint/{workspace}/{name}"


class Listener:
    """Belongs to one waiter. After a notification the next wait returns at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notified = False
        self._wake: Callable[[], None] | None = None

    def notify(self) -> None:
        with self._lock:
            self._notified = True
            wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def wait(self, seconds: float) -> bool:
        """In a thread: waits until notified, or the time is over. True when notified; the next wait waits again."""
        event = threading.Event()
        if not self._arm(event.set):
            event.wait(max(seconds, 0))
        return self._disarm()

    async def wait_async(self, seconds: float) -> bool:
        """The same in asyncio, without a thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop has ended, and its waiters with it
                return

        try:
            if not self._arm(wake):
                await asyncio.wait_for(future, max(seconds, 0))
        except TimeoutError:
            pass
        finally:
            notified = self._disarm()
        return notified

    def _arm(self, wake: Callable[[], None]) -> bool:
        with self._lock:
            if not self._notified:
                self._wake = wake
            return self._notified

    def _disarm(self) -> bool:
        with self._lock:
            notified, self._notified, self._wake = self._notified, False, None
        return notified


class Signals:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, set[Listener]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @contextmanager
    def listen(self, topic: str) -> Iterator[Listener]:
        listener = Listener()
        with self._lock:
            self._listeners.setdefault(topic, set()).add(listener)
            closed = self._closed
        if closed:
            listener.notify()
        try:
            yield listener
        finally:
            with self._lock:
                listeners = self._listeners[topic]
                listeners.discard(listener)
                if not listeners:
                    del self._listeners[topic]

    def notify(self, *topics: str) -> None:
        with self._lock:
            listeners = [listener for topic in topics for listener in self._listeners.get(topic, ())]
        for listener in listeners:
            listener.notify()

    def waiting(self, topic: str) -> int:
        """The number of listeners of a topic."""
        with self._lock:
            return len(self._listeners.get(topic, ()))

    def close(self) -> None:
        """Wakes every waiter, now and from now on. Safe to call twice."""
        with self._lock:
            self._closed = True
            listeners = [listener for group in self._listeners.values() for listener in group]
        for listener in listeners:
            listener.notify()
