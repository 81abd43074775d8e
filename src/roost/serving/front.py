"""The front: connects connections, queues and logs. One object, in the loop's thread; start reading at `run`."""

import asyncio
import logging
import os
import re
import time
from collections import defaultdict
from email.utils import formatdate
from pathlib import Path
from typing import Any

from roost.domain.endpoints import Auth
from roost.serving import configuration, openapi, records, routes
from roost.serving.configuration import FrontConfig, FrontVersion
from roost.serving.control import LONGEST_WAIT, Control
from roost.serving.exchanges import Answer, Exchange, busy, refusal
from roost.serving.http import Client
from roost.serving.logs import RotatingLines
from roost.serving.metrics import Counts, Gauges, prometheus
from roost.serving.queues import Queue
from roost.serving.splitting import Split
from roost.serving.workers import WorkerLink
from roost.version import VERSION

log = logging.getLogger("roost.serving")
MOST_CONNECTIONS = 4096
BUSY_TICK, IDLE_TICK = 0.1, 1.0
DRAIN_SECONDS = 120.0
"""The longest time that requests may take after the front got `stop`."""
_ACCESS_BYTES, _ACCESS_KEPT = 16 * 1024 * 1024, 4
_REQUEST_ID = re.compile(rb"[\w.:-]{1,100}", re.ASCII)
_WISH = b"azureml-model-deployment"
"""The header with which a request chooses its version."""


class Front:
    """The interface for connections and the control socket."""

    def __init__(self, folder: Path, config: FrontConfig) -> None:
        self.folder = folder
        self.held = 0
        self.closing = False
        self.date = b""
        self.port = 0
        self.clients: dict[Client, None] = {}
        """The oldest first."""
        self.counts: dict[str, Counts] = defaultdict(Counts)
        self.turned_away = Counts()
        """Requests that reached no version: without a key, with an unknown path, too large, …"""
        self.queues: dict[str, Queue] = {}
        self._closed: list[Queue] = []
        """Queues of removed versions; they stay until their workers have answered."""
        self._change = 0
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._begun = time.time()
        self._numbers = 0
        self._id = os.urandom(8).hex()
        self._ticking: asyncio.TimerHandle | None = None
        self._idle = True
        self._swept = 0.0
        self._access = RotatingLines(folder / configuration.ACCESS_LOG, largest=_ACCESS_BYTES, kept=_ACCESS_KEPT)
        self._recorder = records.Recorder(folder, config.recorded)
        self._stamp = ""
        self.adopt(config)

    def adopt(self, config: FrontConfig) -> None:
        """Applies this configuration from now on; requests in work stay where they are."""
        self.config = config
        self.held_bytes = config.held_bytes
        self.max_request_bytes = max((version.max_request_bytes for version in config.versions), default=1 << 20)
        self._routes = routes.Routes(config)
        self.refuse = self._routes.refuse
        self._recorder.share = config.recorded
        self._models = {
            version.name: (b"x-roost-model", ",".join(version.models).encode("ascii", "replace"))
            for version in config.versions
        }
        wanted = {version.name: version for version in config.versions}
        with_key = config.auth == Auth.NONE
        given = self._moved({name: {replica.socket for replica in wanted[name].replicas} for name in wanted})
        for name, version in wanted.items():
            if name not in self.queues:
                self.queues[name] = Queue(FrontVersion(name=name), with_key, self.note_change, self._collect)
                self.counts.setdefault(name, Counts())
            self.queues[name].set(version, with_key, given)
        gone = [self.queues.pop(name) for name in self.queues.keys() - wanted.keys()]
        self._closed = [queue for queue in (*self._closed, *gone) if queue in gone or queue.parting or queue.waiting]
        for name in self.counts.keys() - wanted.keys():
            busy = [queue.version.name for queue in self._closed if queue.in_flight or queue.waiting]
            if not self.counts[name].requests and name not in busy:
                del self.counts[name]  # it was only looked at, never counted
        self._split = Split({version.name: version.traffic for version in config.versions})
        for queue in gone:
            waiting = list(queue.waiting)
            queue.waiting.clear()
            queue.close()
            for exchange in waiting:
                self._score(exchange)
        for queue in self.queues.values():
            queue.spread()
        self.note_change()

    def _moved(self, wanted: dict[str, set[str]]) -> dict[str, WorkerLink]:
        """Connections to workers that move from one version to another: so a new generation takes over without a gap."""
        everywhere: set[str] = set().union(*wanted.values())
        moved: dict[str, WorkerLink] = {}
        for name, queue in self.queues.items():
            moved |= queue.give(everywhere - wanted.get(name, set()))
        return moved

    def note_change(self) -> None:
        """The readiness of a worker has changed."""
        self._change += 1
        self._changed.set()
        self._changed = asyncio.Event()

    # Called by connections

    def connected(self, client: Client) -> bool:
        if len(self.clients) >= MOST_CONNECTIONS:
            self._make_way()
        self.clients[client] = None
        return len(self.clients) <= MOST_CONNECTIONS and not self.closing

    def _make_way(self) -> None:
        """Closes the oldest connection that has no request in work, if any, so that idle clients do not block others."""
        idle = next((client for client in self.clients if client.is_idle), None)
        if idle is not None:
            del self.clients[idle]
            idle.make_way()

    def disconnected(self, client: Client) -> None:
        self.clients.pop(client, None)

    def request_id(self, headers: dict[bytes, bytes]) -> bytes:
        """The client's own id if it sent one, else a unique one."""
        given = headers.get(b"x-ms-request-id") or headers.get(b"x-ms-client-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given
        self._numbers += 1
        return f"{self._id}-{self._numbers:x}".encode()

    def handle(self, exchange: Exchange) -> None:
        name = self._routes.name(exchange.path)
        if name is not routes.SCORE:
            exchange.answer(self._own(name, exchange))
            return
        if self._idle:
            self._idle = False
            self._schedule(BUSY_TICK)
        if exchange.method == b"OPTIONS" and not self._raw():
            exchange.answer(Answer(200, b"", [(b"allow", b"POST, GET, OPTIONS")]))
            return
        wish = exchange.headers.get(_WISH)
        if wish and (named := wish.decode("latin-1")) not in self.queues:
            there = ", ".join(version.name for version in self.config.versions)
            exchange.answer(refusal(404, f"There is no version {named[:100]!r} here; there are: {there or 'none'}."))
            return
        self._score(exchange)

    def _collect(self, version: str, replica: str, body: bytes) -> None:
        models = self._models.get(version)
        self._recorder.collected(body, version, replica, models[1].decode() if models else "")

    def finished(self, client: Client, exchange: Exchange, answer: Answer) -> None:
        """An answer is sent: counts it, logs it, and records a share."""
        seconds = time.monotonic() - exchange.arrived
        replica = "-"
        if exchange.version:
            counts = self.counts[exchange.version]
            counts.add(answer.status, seconds, len(exchange.body), len(answer.body))
            if exchange.worker is not None:
                replica = exchange.worker.run
                answer.headers.append(exchange.worker.replica_header)
            models = self._models.get(exchange.version)
            if models is not None and models[1]:
                answer.headers.append(models)
            if self._recorder.share > 0:
                told = models[1].decode() if models else ""
                self._recorder.consider(exchange, answer, seconds, "" if replica == "-" else replica, told)
        elif answer.status >= 400 and exchange.path not in routes.OPEN:
            self.turned_away.add(answer.status, seconds, len(exchange.body), len(answer.body))
        line = (
            f"{self._stamp} {client.peer} {exchange.method.decode('latin-1')} {_shown(exchange.path)} {answer.status} "
            f"{len(exchange.body)} {len(answer.body)} {seconds * 1000:.1f} {exchange.request_id.decode('latin-1')} "
            f"{exchange.version or '-'} {replica or '-'}\n"
        )
        self._access.add(line.encode("utf-8", "backslashreplace"))

    def _raw(self) -> bool:
        return any(link.hello.get("raw") for queue in self.queues.values() for link in queue.ready)

    def _score(self, exchange: Exchange) -> None:
        wish = exchange.headers.get(_WISH)
        name = self._split.next()
        if wish is not None and (named := wish.decode("latin-1")) in self.queues:
            name = named
        if name is None:
            exchange.answer(busy("The service has no version that takes requests.", 5))
            return
        exchange.version = name
        self.queues[name].submit(exchange)

    def _own(self, name: bytes, exchange: Exchange) -> Answer:
        if name == b"health":
            return routes.text("Healthy")
        if name == b"ready":
            return routes.text("Ready") if self.ready else routes.text("Not ready", 503)
        if name == b"metrics":
            said = prometheus(self.config.name, self.counts, self._gauges(), self.turned_away, len(self.clients))
            return routes.metrics(said)
        asked = dict(pair.partition(b"=")[::2] for pair in exchange.query.split(b"&")).get(b"version", b"2")
        document = openapi.document(self.config.name, self._generation(), self._schema(), asked.decode("latin-1"))
        if document is None:
            return refusal(404, "There is no such version of OpenAPI here; they are 2, 3.0 and 3.1.")
        return routes.json_answer(document)

    # Called by the control socket

    @property
    def ready(self) -> bool:
        """True when every version that gets requests has a worker."""
        asked = [version.name for version in self.config.versions if version.traffic > 0]
        return bool(asked) and all(self.queues[name].ready for name in asked)

    def status(self) -> dict[str, Any]:
        links = [link for queue in self.queues.values() for link in queue.ready]
        by_version = {gauges.version: self._of_version(gauges) for gauges in self._gauges()}
        counted = (*self.counts.values(), self.turned_away)
        return {
            "pid": os.getpid(),
            "version": VERSION,
            "port": self.port,
            "begun": self._begun,
            "change": self._change,
            "ready": {
                link.path: {"pid": link.pid, **link.hello, "pid_inside": link.hello.get("pid")} for link in links
            },
            "draining": [path for queue in (*self.queues.values(), *self._closed) for path in queue.parting],
            "failed": {path: text for queue in self.queues.values() for path, text in queue.failed.items()},
            "restarts": {
                path: {"count": count, "why": why}
                for queue in self.queues.values()
                for path, (count, why) in queue.restarts.items()
            },
            "in_flight": sum(each["in_flight"] for each in by_version.values()),
            "waiting": sum(each["waiting"] for each in by_version.values()),
            "requests": sum(counts.requests for counts in counted),
            "errors": sum(counts.errors for counts in counted),
            "refused": sum(counts.refused for counts in counted),
            "seconds": sum(counts.seconds for counts in self.counts.values()),
            "utilization": max((queue.utilization for queue in self.queues.values()), default=0.0),
            "connections": len(self.clients),
            "by_version": by_version,
        }

    def _of_version(self, gauges: Gauges) -> dict[str, Any]:
        counts = self.counts[gauges.version]
        queue = self.queues[gauges.version]
        return {
            "generation": queue.version.generation,
            "ready": gauges.ready,
            "replicas": len(queue.version.replicas),
            "in_flight": gauges.in_flight,
            "waiting": gauges.waiting,
            "utilization": gauges.utilization,
            "requests": counts.requests,
            "errors": counts.errors,
            "refused": counts.refused,
            "seconds": counts.seconds,
        }

    def _gauges(self) -> list[Gauges]:
        return [
            Gauges(
                version=name,
                in_flight=queue.in_flight,
                waiting=len(queue.waiting),
                ready=len(queue.ready),
                utilization=round(queue.utilization, 4),
                restarts=queue.begun_anew,
            )
            for name, queue in self.queues.items()
        ]

    def _schema(self) -> dict[str, Any] | None:
        schemas = (link.hello.get("schema") for queue in self.queues.values() for link in queue.ready)
        return next((schema for schema in schemas if isinstance(schema, dict)), None)

    def _generation(self) -> str:
        return ".".join(str(version.generation) for version in self.config.versions) or "1"

    async def _op_status(self, _: dict[str, Any]) -> dict[str, Any]:
        return self.status()

    async def _op_reload(self, _: dict[str, Any]) -> dict[str, Any]:
        self.adopt(configuration.read(self.folder))
        return {"ok": True, "change": self._change}

    async def _op_wait(self, question: dict[str, Any]) -> dict[str, Any]:
        since = int(question.get("since", 0))
        end = time.monotonic() + min(float(question.get("seconds", 10)), LONGEST_WAIT)
        while self._change <= since and (left := end - time.monotonic()) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                break
        return self.status()

    async def _op_records(self, question: dict[str, Any]) -> dict[str, Any]:
        self._recorder.lines.flush()
        before = question.get("before")
        limit = max(0, min(int(question.get("limit", 100)), 1000))
        found = await asyncio.to_thread(
            records.read, self.folder, limit=limit, before=None if before is None else float(before)
        )
        return {"records": found}

    async def _op_stop(self, _: dict[str, Any]) -> dict[str, Any]:
        self.stop()
        return {"ok": True}

    # Life cycle

    async def run(self, listener: Any) -> None:
        """Serves until `stop`, then until every request has its answer."""
        loop = asyncio.get_running_loop()
        ops = {name[4:]: getattr(self, name) for name in dir(self) if name.startswith("_op_")}
        self._tick()
        server = await loop.create_server(lambda: Client(self), sock=listener, backlog=1024)
        self.port = listener.getsockname()[1]
        control = await Control(ops).listen(self.folder, configuration.SOCKET)
        log.info(
            "The front of %s/%s serves at %s:%d.", self.config.workspace, self.config.name, self.config.host, self.port
        )
        await self._stopped.wait()
        self.closing = True
        server.close()
        await self._drain()
        control.close()
        (self.folder / configuration.SOCKET).unlink(missing_ok=True)
        for queue in self.queues.values():
            queue.close()
        if self._ticking is not None:
            self._ticking.cancel()
        self._access.close()
        self._recorder.lines.close()

    def stop(self) -> None:
        self._stopped.set()

    async def _drain(self) -> None:
        limits = (version.timeout_seconds + version.queue_seconds for version in self.config.versions)
        end = time.monotonic() + min(DRAIN_SECONDS, 5 + max(limits, default=0.0))
        for client in list(self.clients):
            client.drain()
        while self.clients and time.monotonic() < end:
            await asyncio.sleep(0.02)
            for client in list(self.clients):
                client.drain()

    def _schedule(self, seconds: float) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        self._ticking = asyncio.get_running_loop().call_later(seconds, self._tick)

    def _tick(self) -> None:
        try:
            self._look(time.monotonic())
        finally:
            self._idle = not any(queue.waiting or queue.in_flight for queue in self.queues.values())
            self._schedule(IDLE_TICK if self._idle else BUSY_TICK)

    def _look(self, now: float) -> None:
        self.date = formatdate(usegmt=True).encode()
        self._stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for queue in (*self.queues.values(), *self._closed):
            queue.tick(now)
        for queue in self._closed:  # one of its workers was lost
            while queue.waiting:
                self._score(queue.waiting.popleft())
        if now - self._swept >= IDLE_TICK:
            self._swept = now
            for client in list(self.clients):
                client.sweep(now)
        self._access.flush()
        self._recorder.lines.flush()


def _shown(path: bytes) -> str:
    """A path as one word of a log line."""
    return path[:200].decode("ascii", "backslashreplace").replace(" ", "%20")
