"""How often the agents of all runs should send, so that the control plane has time for people. Every answer carries the interval;
meanwhile an agent's data waits in its spools, and arrives in fewer and larger pieces.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

PER_SECOND = 100.0
"""Requests that all agents together should send."""
LONGEST = 10.0
_WINDOW = 15.0
"""A run that has sent nothing for this long is not counted."""


class Pacing:
    """Safe from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._senders: OrderedDict[str, float] = OrderedDict()
        """The time of each run's last request, the latest last."""

    def sent(self, run_id: str) -> float:
        """Notes that a run sends now; returns the seconds after which it should send again, at the soonest."""
        now = self._clock()
        with self._lock:
            self._senders[run_id] = now
            self._senders.move_to_end(run_id)
            while next(iter(self._senders.values())) < now - _WINDOW:
                self._senders.popitem(last=False)
            count = len(self._senders)
        return round(min(count / PER_SECOND, LONGEST), 2)
