"""How long a replica waits before its worker is begun anew. One that was ready is begun at once; only one that ended before it
was ready waits, longer each time. Of the replicas of one version never all wait: the first that fails keeps trying.
"""

import contextlib
import os
from pathlib import Path

from roost.machine import locks

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""After each start in a row that did not become ready."""
LONGEST_OF_FIRST = 2.0
"""Of the replica that keeps trying while others of its version wait longer."""
LEAST_SECONDS = 1.0
"""Between two starts: a worker that is ready and ends in the same moment does not take a whole core."""


class Pauses:
    """Of one replica. Belongs to one thread."""

    def __init__(self, folder: Path, version: str) -> None:
        """`folder` is one that all replicas of the endpoint see; a file in it is locked by the first that waits."""
        self._path = folder / f"trying-{version}.lock"
        self._lock: int | None = None
        self._failures = 0

    def after(self, was_ready: bool, lived: float) -> float:
        """Seconds to wait after a worker that ended, `lived` seconds after its start."""
        if was_ready:
            self.close()
            self._failures = 0
            return max(0.0, LEAST_SECONDS - lived)
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return min(pause, LONGEST_OF_FIRST) if self._is_first() else pause

    def close(self) -> None:
        """Lets another be the first. Safe twice."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._lock)
            self._lock = None

    def _is_first(self) -> bool:
        """Takes the lock where no other replica has it; the kernel frees that of an agent that was killed."""
        if self._lock is None:
            try:
                self._lock = locks.try_hold(self._path, flags=os.O_NOFOLLOW)
            except OSError:
                return True  # nothing can be seen of the others: better to try too often than all to wait
        return self._lock is not None
