"""The lock of sweeps and back-ups: one at a time, because neither may see the other half done.

A back-up waits for its reader. When the reader has stalled for too long, the next caller takes the lock, and the back-up raises
an error when it continues; nothing else ever loses the lock.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from roost.domain.errors import Conflict

PATIENCE_SECONDS = 2.0
"""How long a request waits for the lock: it must not block its thread."""
STALLED_SECONDS = 60.0


class Hold:
    """One hold of the lock, from `UpkeepLock.taken` on. Only its holder calls these."""

    def __init__(self, turns: "UpkeepLock") -> None:
        self._turns = turns
        self.resting_since: float | None = None

    def rest(self) -> None:
        """From now on the holder waits for its reader."""
        self.resting_since = self._turns.clock()

    def go_on(self) -> None:
        """Raises Conflict when the lock was lost meanwhile."""
        if not self._turns.keeps(self):
            raise Conflict(
                f"The back-up was given up: nobody took any of it for {STALLED_SECONDS:g} s, and something else had to be done.",
                hint="Make it again, to a disk that keeps up.",
            )


class UpkeepLock:
    """Safe from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.holder: Hold | None = None
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, patience: float = PATIENCE_SECONDS) -> Iterator[Hold]:
        """Holds the lock during the block. Conflict when another holder keeps it."""
        turn = Hold(self)
        with self._changed:
            if not self._changed.wait_for(self._free, patience):
                raise Conflict("A back-up or a sweep is under way.", hint="Try again when it has ended.")
            self.holder = turn
        try:
            yield turn
        finally:
            with self._changed:
                if self.holder is turn:
                    self.holder = None
                    self._changed.notify_all()

    def keeps(self, turn: Hold) -> bool:
        """True while this hold has the lock; ends its rest."""
        with self._changed:
            turn.resting_since = None
            return self.holder is turn

    def _free(self) -> bool:
        if self.holder is None:
            return True
        since = self.holder.resting_since
        return since is not None and self.clock() - since >= STALLED_SECONDS
