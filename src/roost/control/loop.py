"""The loop of all nouns: leases due work, acts on it outside any transaction, applies the outcome if it still has the lease.

A noun supplies `load`, `act`, `apply`, and no code about leases (docs/how-it-works/loops.md). The loop wakes on a signal (a timer
is the backstop), hands work to a few threads so that a slow act delays no other, renews leases while they work, and backs off
when an act raises. No exception ends it.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from roost.services.signals import CONTROL, Listener, Signals
from roost.store.base import Lease, LeaseLost, Leases

log = logging.getLogger("roost.control")

TICK_SECONDS = 1.0
LEASE_SECONDS = 5.0
"""How long other control planes on the same database leave the work of a killed one alone; one that restarts on its own home
takes it at once. Leases of longer work are renewed every tick."""
RENEW_SECONDS = 1.0
WORKERS = 8
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LAST_WORDS_SECONDS = 0.5
LONGEST_GAP = 0.25
"""The longest pause between two passes while wake-ups follow each other."""

W = TypeVar("W")
O = TypeVar("O")  # noqa: E741 reads as the outcome it is


class Noun(Protocol[W, O]):
    """One kind of work. **Threads**: only the loop calls `load`, any worker calls the rest; one worker at a time per key."""

    name: str
    """The noun in its leases."""
    limit: int
    """The most leases taken in one pass."""
    in_order: bool
    """True: the loop itself works on the keys, one by one in the order of their leases, before its pass continues. For quick work
    that must stay in order."""

    def load(self, keys: Sequence[str], /) -> Mapping[str, W]:
        """The present work of these keys. Writes nothing. The lease of a key that is left out is dropped."""

    def act(self, work: W, /) -> O:
        """The slow part: calls engines, holds no transaction."""

    def apply(self, lease: Lease, work: W, outcome: O, /) -> float | None:
        """Writes the outcome, each write guarded by the lease. Returns the seconds until the work is due again; None when the
        write ended the lease."""


Part = Noun[Any, Any] | Callable[[], None]
"""A part of a loop's pass: a noun whose leases are taken, or a function. (Each noun has types of its own, hence `Any`.)"""


@dataclass(frozen=True)
class Job(Generic[W, O]):
    """Work that this loop holds."""

    noun: Noun[W, O]
    lease: Lease
    work: W


class Loop:
    def __init__(self, leases: Leases, signals: Signals, clock: Callable[[], float], *, workers: int = WORKERS) -> None:
        self._leases = leases
        self._signals = signals
        self._clock = clock
        self._workers = workers
        self._stopping = threading.Event()
        self._jobs: queue.SimpleQueue[Job[Any, Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._held: dict[Lease, tuple[float, float]] = {}
        """Leases with the time they were last taken or renewed: by the clock that they expire by, and by the monotonic clock."""
        self._delays: dict[tuple[str, str], float] = {}
        self._thread: threading.Thread | None = None
        self._complaints: set[str] = set()
        """Errors of the last pass."""

    def start(self, make: Callable[[], Sequence[Part]]) -> None:
        """Starts the loop in threads of its own; `make` is called there until it succeeds."""
        self._thread = threading.Thread(target=self._run, args=(make,), name="control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes no more work and waits briefly for current work. Safe to call twice."""
        self._stopping.set()
        self._signals.notify(CONTROL)
        for _ in range(self._workers):
            self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(LAST_WORDS_SECONDS)

    def look(self, parts: Sequence[Part]) -> Iterator[Job[Any, Any]]:
        """One pass through the parts, in their order. Yields the jobs for the workers."""
        for part in parts:
            if callable(part):
                part()
                continue
            for job in self._take(part):
                if part.in_order:
                    self._renew()
                    self.work(job)
                else:
                    yield job

    def work(self, job: Job[W, O]) -> None:
        """Acts, applies and releases; backs off when one of them raises."""
        lease = job.lease
        place = (lease.noun, lease.key)
        seconds: float | None
        try:
            seconds = job.noun.apply(lease, job.work, job.noun.act(job.work))
            self._delays.pop(place, None)
        except LeaseLost as lost:  # mostly a run whose agent reported its end meanwhile: nothing is left to do
            self._delays.pop(place, None)
            seconds = None
            log.info("%s", lost.message)
        except Exception as error:
            if self._stopping.is_set():
                return
            seconds = self._delays[place] = min(self._delays.get(place, FIRST_DELAY / 2) * 2, LONGEST_DELAY)
            log.error("work on %s (%s) failed; again in %.1f s", lease.key, lease.noun, seconds, exc_info=error)
        self.release(job, seconds)

    def release(self, job: Job[W, O], seconds: float | None) -> None:
        """Releases the lease, due again after `seconds`; with None the lease has ended already."""
        with self._lock:
            self._held.pop(job.lease, None)
        if seconds is None:
            return
        try:
            self._leases.release(job.lease, due=self._clock() + seconds)
        except Exception:
            if not self._stopping.is_set():
                log.exception("the lease on %s could not be given back; it runs out by itself", job.lease.key)
        if seconds <= 0:
            self._signals.notify(CONTROL)

    def _run(self, make: Callable[[], Sequence[Part]]) -> None:
        with self._signals.listen(CONTROL) as listener:
            parts = self._made(make, listener)
            if parts is None:
                return
            workers = [
                threading.Thread(target=self._serve, name=f"control-{number}", daemon=True)
                for number in range(self._workers)
            ]
            for worker in workers:
                worker.start()
            while not self._stopping.is_set():
                begun = time.monotonic()
                self._pass(parts)
                ended = time.monotonic()
                listener.wait(TICK_SECONDS)
                # Wake-ups in quick succession share a pass: passes take half of the time at most.
                self._stopping.wait(max(0.0, ended + min(ended - begun, LONGEST_GAP) - time.monotonic()))
            for worker in workers:
                worker.join(LAST_WORDS_SECONDS / self._workers)

    def _made(self, make: Callable[[], Sequence[Part]], listener: Listener) -> Sequence[Part] | None:
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            try:
                return make()
            except Exception:
                log.exception("the control loop cannot begin; again in %.1f s", delay)
                listener.wait(delay)
                delay = min(delay * 2, LONGEST_DELAY)
        return None

    def _pass(self, parts: Sequence[Part]) -> None:
        complaints: set[str] = set()
        for part in parts:  # an error in one part does not stop the others
            try:
                for job in self.look([part]):
                    self._jobs.put(job)
            except Exception as error:
                # A full disk raises every second: log it once, so that the log does not fill the rest.
                complaint = repr(error)
                if not self._stopping.is_set() and complaint not in self._complaints | complaints:
                    log.exception("the control loop cannot look for work, and tries again every %.1f s", TICK_SECONDS)
                complaints.add(complaint)
        self._complaints = complaints

    def _take(self, noun: Noun[W, O]) -> list[Job[W, O]]:
        self._renew()  # a slow part or a changed clock may have let our leases expire: keep them
        leases = self._leases.take(noun.name, at=self._clock(), seconds=LEASE_SECONDS, limit=noun.limit)
        if not leases:
            return []
        if len(leases) == noun.limit:
            self._signals.notify(CONTROL)  # there may be more
        loaded = noun.load([lease.key for lease in leases])
        for lease in leases:
            if lease.key not in loaded:
                self._leases.drop(lease)
        jobs = [Job(noun, lease, loaded[lease.key]) for lease in leases if lease.key in loaded]
        with self._lock:
            self._held.update((job.lease, self._now()) for job in jobs)
        return jobs

    def _renew(self) -> None:
        """Renews each lease at intervals, however often the loop wakes."""
        now = self._now()
        with self._lock:
            leases = [
                lease
                for lease, at in self._held.items()
                if any(here - there >= RENEW_SECONDS for here, there in zip(now, at, strict=True))
            ]
            self._held.update((lease, now) for lease in leases)
        for lease in self._leases.renew(leases, until=self._clock() + LEASE_SECONDS) if leases else ():
            log.info("the lease on %s (%s) was lost while it was worked on", lease.key, lease.noun)
            with self._lock:
                self._held.pop(lease, None)

    def _now(self) -> tuple[float, float]:
        return self._clock(), time.monotonic()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._stopping.is_set():
                self.work(job)
