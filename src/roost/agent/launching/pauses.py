"""How long a replica waits before it restarts its worker. A worker that was ready restarts at once; one that ended before it was
ready waits, longer each time. The first replica of a version that fails waits only briefly, so that one always keeps trying.
"""

import contextlib
import os
from pathlib import Path

from roost.machine import locks

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds after each consecutive start that did not become ready."""
LONGEST_OF_FIRST = 2.0
"""The longest pause of the replica that keeps trying while others of its version wait longer."""
LEAST_SECONDS = 1.0
"""Between two starts, so that a worker that becomes ready and ends at once does not use a whole core."""


class Pauses:
    """The pauses of one replica. For one thread."""

    def __init__(self, folder: Path, version: str) -> None:
        """`folder` is shared by all replicas of the endpoint; the first replica that waits locks a file in it."""
        self._path = folder / f"trying-{version}.lock"
        self._lock: int | None = None
        self._failures = 0

    def after(self, was_ready: bool, lived: float) -> float:
        """Seconds to wait after a worker ended, `lived` seconds after its start."""
        if was_ready:
            self.close()
            self._failures = 0
            return max(0.0, LEAST_SECONDS - lived)
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return min(pause, LONGEST_OF_FIRST) if self._is_first() else pause

    def close(self) -> None:
        """Releases the lock, so that another replica can be the first. Safe twice."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._lock)
            self._lock = None

    def _is_first(self) -> bool:
        """True when this replica has, or now gets, the lock; the kernel frees the lock of a killed agent."""
        if self._lock is None:
            try:
                self._lock = locks.try_hold(self._path, flags=os.O_NOFOLLOW)
            except OSError:
                return True  # the others cannot be seen: better that all try often than that all wait
        return self._lock is not None
