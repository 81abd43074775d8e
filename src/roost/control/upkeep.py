"""Upkeep on a timer: sweeps every hour what deleted runs left, so that deleting a run frees space without another command."""

import logging
import threading

from roost.domain.people import SYSTEM
from roost.services import upkeep
from roost.services.context import Context

log = logging.getLogger("roost.control")

FIRST_SECONDS = 600.0
EVERY_SECONDS = 3600.0
LAST_WORDS_SECONDS = 0.2


class Upkeep:
    """Runs in a thread of its own; a failed sweep is tried again next time. A sweep that is killed half-way only leaves less to
    do."""

    def __init__(self, context: Context, *, first: float = FIRST_SECONDS, every: float = EVERY_SECONDS) -> None:
        self._context = context
        self._first, self._every = first, every
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A sweep in progress ends with the process. Safe to call twice, and before the start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(LAST_WORDS_SECONDS)

    def _run(self) -> None:
        pause = self._first
        while not self._stopping.wait(pause):
            pause = self._every
            try:
                swept = upkeep.sweep(self._context, SYSTEM)
            except Exception:
                if not self._stopping.is_set():
                    log.exception("the sweep failed; again in %.0f s", self._every)
                continue
            if swept.blobs or swept.database_bytes:
                log.info(
                    "swept %d blobs of %d bytes; the database gave %d bytes back",
                    swept.blobs,
                    swept.bytes,
                    swept.database_bytes,
                )
