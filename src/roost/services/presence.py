"""Agents whose heartbeat request is open at this moment. Such an agent is alive: the kernel closes the connection of a killed
one. Stored in this process only, as the signals are.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Presence:
    """Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def at(self, run_id: str) -> Iterator[None]:
        """The run's agent counts as present inside the block."""
        with self._lock:
            self._waiting[run_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[run_id] -= 1
                if not self._waiting[run_id]:
                    del self._waiting[run_id]

    def has(self, run_id: str) -> bool:
        with self._lock:
            return run_id in self._waiting
