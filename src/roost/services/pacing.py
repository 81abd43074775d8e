"""How often the agents of all runs should send, so that together they leave the control plane time for people. Each is told with
every answer; what they have waits in their spools meanwhile, and comes in fewer and larger pieces.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

PER_SECOND = 100.0
"""Sendings that all runs together should make."""
LONGEST = 10.0
_WINDOW = 15.0
"""A run that has sent nothing for so long is none of those that send."""


class Pacing:
    """Safe from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._senders: OrderedDict[str, float] = OrderedDict()
        """When each last sent, the latest last."""

    def sent(self, run_id: str) -> float:
        """Notes that a run sends now; in how many seconds it should do so again, at the soonest."""
        now = self._clock()
        with self._lock:
            self._senders[run_id] = now
            self._senders.move_to_end(run_id)
            while next(iter(self._senders.values())) < now - _WINDOW:
                self._senders.popitem(last=False)
            count = len(self._senders)
        return round(min(count / PER_SECOND, LONGEST), 2)
