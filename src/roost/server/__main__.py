"""`python -m roost.server`: locks the home, listens, serves. Exit codes: 0 ended, 2 cannot start, 3 another server runs in this
home.

Heavy imports come after the lock, so that the second of two servers ends at once.
"""

import argparse
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from roost.domain.errors import Conflict, DiskFull, RoostError
from roost.machine import umasks
from roost.server import ending, home
from roost.server.settings import Settings, read
from roost.server.starter import Starter
from roost.services.reserve import NO_ROOM, Reserve

FAILED = 1
CANNOT_START = 2
ALREADY_RUNNING = 3
_FREE = "Free some space there; `roost gc` drops old caches also without a control plane."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m roost.server", description="The control plane of Roost.")
    parser.add_argument("--home", type=Path, help="folder of everything it keeps (ROOST_HOME, ~/.roost)")
    parser.add_argument("--host", help="address to listen on (ROOST_HOST, 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (ROOST_PORT, that of last time or any)")
    parser.add_argument(
        "--ready-fd",
        type=int,
        help="file descriptor that gets the line `ready URL` once it listens, or `failed` and the reason as JSON",
    )
    given = parser.parse_args(arguments)
    starter = Starter(given.ready_fd)
    try:
        settings = read(os.environ, home=given.home, host=given.host, port=given.port)
        return _serve(settings, starter)
    except RoostError as error:
        hint = _FREE if isinstance(error, DiskFull) else error.hint
        return _report(starter, f"The control plane cannot start: {error.message}", hint)
    except OSError as error:
        return _report(starter, *_words_of(error))
    except Exception as error:  # noqa: BLE001  a server that cannot start ends, and reports why
        with suppress(OSError):
            traceback.print_exc()
        _report(starter, f"The control plane failed: {type(error).__name__}: {error}.")
        return FAILED


def _serve(settings: Settings, starter: Starter) -> int:
    umasks.close()
    home.prepare(settings)
    try:
        home.lock(settings)
    except Conflict as error:
        _say(error.message, "`roost status` shows it, `roost down` ends it.")
        return ALREADY_RUNNING
    if Reserve(settings.home).give_up_if_full():
        _say("The disk is full: the reserve in the home is given up for this start.", "`roost gc` frees more.")
    listener = home.bind(settings)
    gc.disable()  # collecting garbage while modules load takes a fifth of the start; `serving` enables it again
    from roost.server.serving import serve  # noqa: PLC0415 loads the web framework and the database, half a second

    return serve(settings, listener, starter)


def _words_of(error: OSError) -> tuple[str, str]:
    where = error.filename or "no file named"
    if error.errno in NO_ROOM:
        return f"The control plane cannot start: no room left on the disk ({where}).", _FREE
    return f"The control plane cannot start: {error.strerror or error}: {where}.", ""


def _report(starter: Starter, message: str, hint: str = "") -> int:
    _say(message, hint)
    starter.failed(message, hint)
    return CANNOT_START


def _say(message: str, hint: str = "") -> None:
    with suppress(OSError):
        sys.stderr.write(f"roost.server: {message}" + (f" hint: {hint}" if hint else "") + "\n")


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the process from start to exit."""
    ending.listen_to_signals()
    try:
        code = main(arguments)
    except SystemExit as request:  # raised by the argument parser, which has printed why
        code = request.code if isinstance(request.code, int) else CANNOT_START
    ending.leave(code)


if __name__ == "__main__":
    run()
