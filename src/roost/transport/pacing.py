"""How often a shipper looks and sends: rarely while nothing is new, and never more often than the control plane requests.

`Pace` is the interval that its answers request, `Pauses` the waits between two looks. The agent and a notebook's thread use both.
"""

import time

LEAST_SECONDS = 0.15
"""The least time between two sendings."""
QUIET_SECONDS = 1.0
"""The longest time between two looks: data written after a long quiet time is sent at most this much later."""
LONGEST_SECONDS = 10.0
_QUIET_SHARE = 10.0
"""The pause before a look is the quiet time so far, divided by this."""
_ANSWERS = 2.0
"""A sender waits this many times the duration of its last request, so that a slow control plane gets fewer."""


class Pace:
    """The least time between two sendings of one run. For one thread."""

    def __init__(self) -> None:
        self._asked = self._took = 0.0

    def note(self, asked: object, took: float) -> None:
        """Takes the interval that an answer requests (`pace`, absent from an old control plane), and how long the answer took."""
        self._asked = float(asked) if isinstance(asked, int | float) else 0.0
        self._took = took

    @property
    def seconds(self) -> float:
        return min(max(LEAST_SECONDS, self._asked, _ANSWERS * self._took), LONGEST_SECONDS)


class Pauses:
    """How long to wait before the next look. For one thread."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._sent_at = time.monotonic()

    def after(self, *, sent: bool) -> float:
        """Seconds to wait after a look; `sent`: it found something, which was sent."""
        now = time.monotonic()
        self._sent_at = now if sent else self._sent_at
        quiet = now - self._sent_at
        return max(LEAST_SECONDS, min(quiet / _QUIET_SHARE, QUIET_SECONDS), self._pace.seconds - quiet)
