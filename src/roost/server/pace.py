"""The slowest rate at which a body may arrive. Only the time spent waiting for the sender counts, never that of the disk.

One `Pace` per body, used by one thread at a time: the event loop's (`protocol.py`) or the one that stores it (`incoming.py`).
"""

from roost.domain.errors import TooSlow

WINDOW_SECONDS = 20.0
SLOWEST = 4096
"""Bytes per second that must arrive, on average over a window."""


class Pace:
    def __init__(self) -> None:
        self._waited = 0.0
        self._came = 0

    @property
    def left(self) -> float:
        """Seconds of waiting until the window ends."""
        return max(0.0, WINDOW_SECONDS - self._waited)

    def came(self, count: int) -> None:
        self._came += count

    def waited(self, seconds: float) -> None:
        """Adds waiting time; TooSlow when a window ends in which too little arrived."""
        self._waited += seconds
        if self._waited < WINDOW_SECONDS:
            return
        if self._came < SLOWEST * WINDOW_SECONDS:
            raise TooSlow(
                f"Of the body {self._came} bytes came within {self._waited:.0f} seconds, less than {SLOWEST} a second.",
                hint="Send it again, over a connection that is not held up.",
            )
        self._waited, self._came = 0.0, 0
