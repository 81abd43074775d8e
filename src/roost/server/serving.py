"""Runs a server: listens, announces itself, runs the control loops; a signal or a request ends it within two seconds."""

import asyncio
import contextlib
import gc
import logging
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import uvicorn
import uvloop

from roost.api.app import create_app
from roost.api.guard import host_headers
from roost.control import runs
from roost.control.endpoints import EndpointsControl
from roost.control.loop import Loop, Part
from roost.control.upkeep import Upkeep
from roost.domain.plans import Access
from roost.engines.base import Engine
from roost.server import ending, home, logs, wiring
from roost.server.connections import Connection, State, room_for_connections
from roost.server.protocol import Protocol
from roost.server.settings import Settings
from roost.server.starter import Starter
from roost.services.context import Context
from roost.services.reserve import Reserve
from roost.studio import pages

log = logging.getLogger("roost.server")
GRACE_SECONDS = 1
"""How long open requests may take once the server is asked to end."""

CLOSE_SECONDS = 0.5
_ANYIO_THREAD = "AnyIO worker thread"
_TICKS_OF_A_SWEEP = 10
"""Tenths of a second between two sweeps of all connections."""


def serve(settings: Settings, listener: socket.socket, starter: Starter) -> int:
    """Serves until it is asked to end."""
    sys.setswitchinterval(0.001)  # small requests wait a fifth as long while megabytes of metrics are read
    logs.begin(settings.log_file)
    instance = secrets.token_hex(8)
    address = home.url(settings, listener)
    context = wiring.build(settings, instance)
    control = Control(settings, context, address)
    upkeep = Upkeep(context)
    hosts = host_headers((settings.host, *settings.allowed_hosts), listener.getsockname()[1])

    def listening() -> None:
        home.announce(settings, address, instance, context.facts.started_at)
        server.take_signals()
        starter.ready(address)
        log.info("listening on %s, home %s", address, settings.home)
        control.start()
        upkeep.start()
        Reserve(settings.home).make()

    server = Server(context, hosts, listening, ending.within)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(server.serve(sockets=[listener]))
    finally:
        ending.within()
        _wait_for_threads()
        control.stop()
        upkeep.stop()
        context.store.close()
    log.info("ended")
    return 0


def _wait_for_threads() -> None:
    """Waits briefly for the threads that store bodies: when a sender is cut off, they delete its partial data."""
    deadline = time.monotonic() + CLOSE_SECONDS
    for thread in threading.enumerate():
        if thread.name == _ANYIO_THREAD:
            thread.join(max(0.0, deadline - time.monotonic()))


class Control:
    """The control loops and the engines of runs; made after the server listens, so that they delay no client."""

    def __init__(self, settings: Settings, context: Context, address: str) -> None:
        self._settings = settings
        self._context = context
        self._address = address
        self._loop = Loop(context.store.leases, context.signals, context.clock)
        self._endpoints = Loop(context.store.leases, context.signals, context.clock, workers=4)
        self._engines: dict[str, Engine] = {}

    def start(self) -> None:
        self._loop.start(self._make)
        self._endpoints.start(lambda: [EndpointsControl(self._context)])

    def _make(self) -> Sequence[Part]:
        self._engines = wiring.engines(self._settings, self._context.engines)
        there = {name: abilities for name, abilities in self._context.engines.items() if name in self._engines}

        def access(token: str) -> Access:
            return Access(url=self._address, token=token, endpoint_file=str(self._settings.server_file))

        return runs.parts(replace(self._context, engines=there), self._engines, access)

    def stop(self) -> None:
        """Waits only briefly for engines: a busy one ends with this process."""
        self._loop.stop()
        self._endpoints.stop()
        closer = threading.Thread(target=self._close, name="closer", daemon=True)
        closer.start()
        closer.join(CLOSE_SECONDS)

    def _close(self) -> None:
        for engine in self._engines.values():
            engine.close()


class Server(uvicorn.Server):
    """uvicorn, with Roost's signal handling and a callback when it is ready."""

    def __init__(
        self,
        context: Context,
        hosts: frozenset[str],
        listening: Callable[[], None],
        ends: Callable[[], None] = lambda: None,
    ) -> None:
        """`listening` is called once it listens, `ends` when it begins to end."""
        app = create_app(context, hosts=hosts, stop=self.end, pages=(pages.router,))
        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=GRACE_SECONDS,
                backlog=2048,
            )
        )
        self.server_state = State(room_for_connections())
        self._context = context
        self._listening = listening
        self._ends = ends

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_OF_A_SWEEP == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.sweep(now)
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
            # Loaded modules stay in memory: the collector need not scan them again.
            gc.freeze()
            gc.enable()
            self._listening()
        except BaseException:
            self._ends()
            raise

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the kernel, which ends a server that does not serve yet."""
        yield

    def take_signals(self) -> None:
        """From now on a signal ends the server in the same way as a request to end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.end)

    def end(self) -> None:
        """Wakes every long poll, then lets open requests finish."""
        self._ends()
        self._context.signals.close()
        self.should_exit = True
