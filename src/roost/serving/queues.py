"""The requests of one version: which ones wait, which worker is next, and what follows when a worker is lost or too slow.

A request goes to the worker with the most room. Requests that were sent ahead are recalled when their worker is stuck and another
has room. A request whose worker was lost while handling it is retried once; those sent ahead go back to the queue.
"""

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import replace

from roost.serving.configuration import FrontReplica, FrontVersion
from roost.serving.exchanges import Exchange, busy, refusal, too_large
from roost.serving.workers import WorkerLink, why_ended

MOST_WAITING = 1000
MOST_TRIES = 2
STUCK_SECONDS = 0.1
"""When a request has taken this long, those sent ahead behind it are recalled for other workers."""
_FIRST_WAIT, _LONGEST_WAIT = 0.02, 0.5
_MEMORY_SECONDS = 3.0


class Queue:
    """The queue of one version. Everything happens in the loop's thread."""

    def __init__(
        self,
        version: FrontVersion,
        with_key: bool,
        changed: Callable[[], None],
        collected: Callable[[str, str, bytes], None] = lambda *_: None,
    ) -> None:
        """`collected` receives the data that scripts collect, with the names of version and replica."""
        self.version = version
        self.with_key = with_key
        self.waiting: deque[Exchange] = deque()
        self.links: dict[str, WorkerLink] = {}
        self.utilization = 0.0
        self._ticked = 0.0
        self.failed: dict[str, str] = {}
        self.restarts: dict[str, tuple[int, str]] = {}
        """Workers that ended and are restarted, by socket: how often, and the last reason, if the agent gave one."""
        self.begun_anew = 0
        """Total number of restarts, including replicas that are gone."""
        self._why = ""
        """The reason of the last loss; empty once a worker is ready."""
        self._changed = changed
        self._collected = collected
        self._connecting: dict[str, asyncio.Task[None]] = {}
        self._parting: set[WorkerLink] = set()
        self.set(version, with_key)

    @property
    def concurrency(self) -> int:
        return self.version.concurrency

    @property
    def ready(self) -> list[WorkerLink]:
        return [link for link in self.links.values() if link.ready and not link.leaving]

    @property
    def parting(self) -> list[str]:
        """Sockets of workers that get nothing more but still have requests to answer."""
        return [link.path for link in self._parting]

    @property
    def in_flight(self) -> int:
        return sum(len(link.sent) for link in (*self.links.values(), *self._parting))

    def set(self, version: FrontVersion, with_key: bool, given: dict[str, WorkerLink] | None = None) -> None:
        """Applies this version: connects to new workers, unless another queue gave its connection; workers that are no longer
        named get nothing more."""
        self.version = version
        self.with_key = with_key
        wanted = {replica.socket: replica for replica in version.replicas}
        for path, link in (given or {}).items():
            if path in wanted and path not in self.links:
                link.pool = self
                self.links[path] = link
        for path in [*self.links.keys() - wanted.keys(), *self._connecting.keys() - wanted.keys()]:
            self._part(path)
        self.restarts = {path: each for path, each in self.restarts.items() if path in wanted}
        for path in wanted.keys() - self.links.keys() - self._connecting.keys():
            self._connecting[path] = asyncio.get_running_loop().create_task(self._connect(wanted[path]))

    def give(self, paths: Set[str]) -> dict[str, WorkerLink]:
        """Hands over its ready connections to these workers to another queue."""
        return {path: self.links.pop(path) for path in paths & self.links.keys() if self.links[path].ready}

    def close(self) -> None:
        self.set(replace(self.version, replicas=()), self.with_key)

    def _part(self, path: str) -> None:
        task = self._connecting.pop(path, None)
        if task is not None:
            task.cancel()
        self.failed.pop(path, None)
        link = self.links.pop(path, None)
        if link is not None:
            self._parting.add(link)
            link.leave()
            self._changed()

    async def _connect(self, replica: FrontReplica) -> None:
        """Retries until connected: a worker listens when its model is loaded."""
        loop = asyncio.get_running_loop()
        wait = _FIRST_WAIT
        while True:
            link = WorkerLink(replica.socket, replica.run, self)
            with suppress(OSError):
                if os.path.exists(replica.socket):
                    await loop.create_unix_connection(lambda link=link: link, replica.socket)  # type: ignore[misc]
                    self._connecting.pop(replica.socket, None)
                    self.links[replica.socket] = link
                    return
            await asyncio.sleep(wait)
            wait = min(wait * 1.1, _LONGEST_WAIT)

    # Called by links

    def link_ready(self, link: WorkerLink) -> None:
        self.failed.pop(link.path, None)
        self._why = ""
        self._changed()
        self.link_free(link)

    def link_free(self, link: WorkerLink) -> None:
        waiting = self.waiting
        if not waiting:
            return
        room = link.room
        while waiting and room > 0:
            exchange = waiting.popleft()
            if not exchange.gone:
                link.send(exchange)
                room -= 1

    def link_lost(self, link: WorkerLink, left: list[Exchange]) -> None:
        if link.failure:
            self.failed[link.path] = link.failure
        self._parting.discard(link)
        self._why = why = why_ended(link.path)
        if self.links.get(link.path) is link:
            del self.links[link.path]
            replica = FrontReplica(socket=link.path, run=link.run)
            if replica in self.version.replicas:
                if link.hello and not link.failure:
                    self.restarts[link.path] = (self.restarts.get(link.path, (0, ""))[0] + 1, why)
                    self.begun_anew += 1
                self._connecting[link.path] = asyncio.get_running_loop().create_task(self._connect(replica))
        self._changed()
        for exchange in reversed(left):
            if exchange.answered or exchange.gone:
                continue
            if exchange.tries >= MOST_TRIES:
                words = f"{exchange.tries} workers of the model ended while they were at this request."
                exchange.answer(refusal(502, f"{words} {why}".strip()))
            else:
                if exchange.started:
                    exchange.started, exchange.queued = 0.0, time.monotonic()
                self.waiting.appendleft(exchange)
        self.spread()

    def link_collected(self, link: WorkerLink, body: bytes) -> None:
        self._collected(self.version.name, link.run, body)

    def link_returned(self, exchange: Exchange) -> None:
        if not exchange.answered and not exchange.gone:
            self.waiting.appendleft(exchange)
            self.spread()

    # Requests

    def submit(self, exchange: Exchange) -> None:
        if len(exchange.body) > self.version.max_request_bytes:
            exchange.answer(too_large(self.version.max_request_bytes))
            return
        exchange.queued = exchange.queued or time.monotonic()
        if not self.waiting:
            best, most = None, 0
            for link in self.links.values():
                room = link.room
                if room > most:
                    best, most = link, room
            if best is not None:
                best.send(exchange)
                return
        if len(self.waiting) >= MOST_WAITING:
            exchange.answer(busy(f"{MOST_WAITING} requests are waiting already."))
            return
        self.waiting.append(exchange)

    def spread(self) -> None:
        """Sends waiting requests to workers with room, the least busy first."""
        for link in sorted(self.ready, key=lambda link: len(link.sent)):
            if not self.waiting:
                return
            self.link_free(link)

    def tick(self, now: float) -> None:
        """Called a few times a second: applies time limits and fair shares."""
        self._expire(now)
        ready = self.ready
        for link in (*self.links.values(), *self._parting):
            at_work = [exchange for exchange in link.sent.values() if exchange.started]
            ahead = [exchange for exchange in link.sent.values() if not exchange.started]
            for exchange in at_work:
                if now - exchange.started > self.version.timeout_seconds:
                    exchange.answer(
                        refusal(504, f"The model did not answer within {self.version.timeout_seconds:g} seconds.")
                    )
                    link.give_up(exchange)
            stuck = bool(at_work) and now - max(exchange.started for exchange in at_work) > STUCK_SECONDS
            if ahead and stuck and any(other.room > 0 for other in ready if other is not link):
                for exchange in ahead:
                    link.recall(exchange)
        self._measure(ready, now - self._ticked)
        self._ticked = now

    def _expire(self, now: float) -> None:
        """Answers 503 to requests that have waited too long, in the queue or sent ahead."""
        oldest = now - self.version.queue_seconds
        late = [exchange for exchange in self.waiting if exchange.gone or exchange.queued < oldest]
        for exchange in late:
            self.waiting.remove(exchange)
            if not exchange.gone:
                exchange.answer(busy(self._why_late()))
        for link in self.links.values():
            for exchange in link.sent.values():
                if not exchange.started and exchange.queued < oldest and not exchange.answered:
                    exchange.answer(busy(self._why_late()))
                    link.recall(exchange)

    def _why_late(self) -> str:
        seconds = f"{self.version.queue_seconds:g} seconds"
        if self.ready:
            return f"All {len(self.ready)} replicas of the model were busy for {seconds}."
        return f"No replica of the model was ready within {seconds}. {self._why}".strip()

    def _measure(self, ready: list[WorkerLink], since: float) -> None:
        """The load of the last seconds, a share from 0 to 1."""
        places = sum(link.concurrency for link in ready)
        used = sum(min(len(link.sent), link.concurrency) for link in ready)
        share = 1.0 if self.waiting else (used / places if places else 0.0)
        self.utilization += (1 - math.exp(-since / _MEMORY_SECONDS)) * (share - self.utilization)
