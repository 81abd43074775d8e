"""The loop that all nouns share: find work that is due, lease it, act outside any transaction, apply if it is still ours.

A noun supplies `load`, `act`, `apply`. The loop wakes on a signal (a timer is the backstop), hands work to a few threads so
that a slow act holds nobody up, renews leases while they work, and backs off when an act raises. Nothing kills it.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from roost.services.signals import CONTROL, Bell, Signals

log = logging.getLogger("roost.control")

TICK_SECONDS = 1.0
LEASE_SECONDS = 5.0
"""How long the work of a killed control plane stays untouched by others that share its database; one that comes back on its own
home takes it up at once. Work that takes longer is renewed every tick."""
RENEW_SECONDS = 1.0
WORKERS = 8
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LAST_WORDS_SECONDS = 0.5
LONGEST_GAP = 0.25
"""Between two looks for work, while one wake-up follows the other."""

W = TypeVar("W")
O = TypeVar("O")  # noqa: E741 reads as the outcome it is


class Noun(Protocol[W, O]):
    """What one kind of work is. **Threads**: `load` is called by the loop only, the rest by any worker."""

    def load(self) -> Sequence[W]:
        """Pieces of work that are due, leased for LEASE_SECONDS."""

    def key(self, work: W) -> str:
        """Its name, the same at each lease."""

    def act(self, work: W) -> O:
        """The slow part: talks to engines, holds no transaction."""

    def apply(self, work: W, outcome: O) -> float:
        """Writes what came of it, guarded by the lease; in how many seconds it is due again."""

    def renew(self, work: W) -> None:
        """Holds the lease for LEASE_SECONDS more."""

    def release(self, work: W, seconds: float) -> None:
        """Gives the lease back; due again in so many seconds."""


class Loop(Generic[W, O]):
    def __init__(self, signals: Signals, *, workers: int = WORKERS) -> None:
        self._signals = signals
        self._workers = workers
        self._stopping = threading.Event()
        self._jobs: queue.SimpleQueue[W | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._busy: dict[str, W] = {}
        self._renewed: dict[str, float] = {}
        self._delays: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._complaint = ""

    def start(self, make: Callable[[], Noun[W, O]]) -> None:
        """Runs in threads of its own from now on; `make` is called there, again and again until it succeeds."""
        self._thread = threading.Thread(target=self._run, args=(make,), name="control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes no more work and waits a moment for what is under way. Safe to call twice."""
        self._stopping.set()
        self._signals.ring(CONTROL)
        for _ in range(self._workers):
            self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(LAST_WORDS_SECONDS)

    def _run(self, make: Callable[[], Noun[W, O]]) -> None:
        with self._signals.listen(CONTROL) as bell:
            noun = self._made(make, bell)
            if noun is None:
                return
            workers = [
                threading.Thread(target=self._work, args=(noun,), name=f"control-{number}", daemon=True)
                for number in range(self._workers)
            ]
            for worker in workers:
                worker.start()
            while not self._stopping.is_set():
                begun = time.monotonic()
                self._pass(noun)
                ended = time.monotonic()
                bell.wait(TICK_SECONDS)
                # What comes in quick succession is worked on together: passes take half of the time at the most.
                self._stopping.wait(max(0.0, ended + min(ended - begun, LONGEST_GAP) - time.monotonic()))
            for worker in workers:
                worker.join(LAST_WORDS_SECONDS / self._workers)

    def _made(self, make: Callable[[], Noun[W, O]], bell: Bell) -> Noun[W, O] | None:
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            try:
                return make()
            except Exception:
                log.exception("the control loop cannot begin; again in %.1f s", delay)
                bell.wait(delay)
                delay = min(delay * 2, LONGEST_DELAY)
        return None

    def _pass(self, noun: Noun[W, O]) -> None:
        try:
            self._renew(noun)
            for work in noun.load():
                with self._lock:
                    self._busy[noun.key(work)] = work
                    self._renewed[noun.key(work)] = time.monotonic()
                self._jobs.put(work)
            self._complaint = ""
        except Exception as error:
            # A full disk is met every second: said once, not until the log has filled what is left.
            if not self._stopping.is_set() and self._complaint != (complaint := repr(error)):
                self._complaint = complaint
                log.exception("the control loop cannot look for work, and tries again every %.1f s", TICK_SECONDS)

    def _renew(self, noun: Noun[W, O]) -> None:
        """Each lease once in a while, however often a wake-up comes."""
        now = time.monotonic()
        with self._lock:
            busy = [work for key, work in self._busy.items() if now - self._renewed[key] >= RENEW_SECONDS]
            self._renewed.update((noun.key(work), now) for work in busy)
        for work in busy:
            noun.renew(work)

    def _work(self, noun: Noun[W, O]) -> None:
        while (work := self._jobs.get()) is not None:
            if not self._stopping.is_set():
                self._once(noun, work)

    def _once(self, noun: Noun[W, O], work: W) -> None:
        key = noun.key(work)
        try:
            seconds = noun.apply(work, noun.act(work))
            self._delays.pop(key, None)
        except Exception as error:
            if self._stopping.is_set():
                return
            seconds = self._delays[key] = min(self._delays.get(key, FIRST_DELAY / 2) * 2, LONGEST_DELAY)
            log.error("work on %s failed; again in %.1f s", key, seconds, exc_info=error)
        with self._lock:
            self._busy.pop(key, None)
            self._renewed.pop(key, None)
        try:
            noun.release(work, seconds)
        except Exception:
            if not self._stopping.is_set():
                log.exception("the lease on %s could not be given back; it runs out by itself", key)
        if seconds <= 0:
            self._signals.ring(CONTROL)
