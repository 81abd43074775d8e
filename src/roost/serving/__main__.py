"""`python -m roost.serving FOLDER`: the front of the endpoint whose front.json is in that folder.

Exits with 0 after `stop` or SIGTERM, 3 when another front uses the folder, 4 when its port is taken, 5 when front.json is
invalid.
"""

import argparse
import asyncio
import logging
import resource
import signal
import socket
import sys
import time
from pathlib import Path

import uvloop

from roost.domain.errors import InvalidInput
from roost.machine import locks
from roost.serving import configuration
from roost.serving.configuration import FrontConfig
from roost.serving.front import Front

log = logging.getLogger("roost.serving")
STOPPED, HELD, PORT_TAKEN, BAD_CONFIGURATION = 0, 3, 4, 5
_PORT_SECONDS = 5.0
"""Time that a front which is about to end may still hold the port."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m roost.serving", description="The front of an endpoint.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    lock = locks.try_hold(folder / configuration.LOCK)
    if lock is None:
        log.error("Another front lives in %s.", folder)
        return HELD
    try:
        config = configuration.read(folder)
    except InvalidInput as error:
        log.error("%s", error.message)
        return BAD_CONFIGURATION
    try:
        listener = _listener(config)
    except OSError as error:
        log.error("The front of %s cannot listen at %s:%d: %s.", config.name, config.host, config.port, error)
        return PORT_TAKEN
    _raise_limits()
    uvloop.run(_serve(folder, config, listener))
    return STOPPED


async def _serve(folder: Path, config: FrontConfig, listener: socket.socket) -> None:
    front = Front(folder, config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, front.stop)
    await front.run(listener)


def _listener(config: FrontConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    end = time.monotonic() + _PORT_SECONDS
    while True:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((config.host, config.port))
            listener.listen(1024)
            return listener
        except OSError:
            listener.close()
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


def _raise_limits() -> None:
    """Raises the limit of open files to the maximum for this user."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
