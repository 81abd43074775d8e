"""How often a shipper looks and sends: rarely while nothing is new, and no more often than the control plane asks for.

`Pace` is what its answers ask for, `Pauses` the waiting between two looks. The agent and a notebook's thread use both.
"""

import time

LEAST_SECONDS = 0.15
"""Between two sendings while the control plane has time."""
QUIET_SECONDS = 1.0
"""Between two looks at the most: what is written after a long quiet time is sent so much later."""
LONGEST_SECONDS = 10.0
_QUIET_SHARE = 10.0
"""A look comes after so small a part of the time that nothing was new for."""
_ANSWERS = 2.0
"""A sender waits so many times as long as its last answer took: a control plane that is slow is asked less."""


class Pace:
    """The least time between two sendings of one run. For one thread."""

    def __init__(self) -> None:
        self._asked = self._took = 0.0

    def note(self, asked: object, took: float) -> None:
        """What an answer asks for (`pace`, absent from a control plane that does not know of it), and how long it took."""
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
        """Of a look that found something, which was `sent`, or found nothing."""
        now = time.monotonic()
        self._sent_at = now if sent else self._sent_at
        quiet = now - self._sent_at
        return max(LEAST_SECONDS, min(quiet / _QUIET_SHARE, QUIET_SECONDS), self._pace.seconds - quiet)
