"""`python -m roost.server`: locks the home, listens, serves. Exit codes: 0 ended, 2 cannot start, 3 another one runs.

Heavy imports come after the lock, so that the second of two servers ends at once.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from roost.blobs import umasks
from roost.domain.errors import Conflict, RoostError
from roost.server import home
from roost.server.settings import Settings, read

CANNOT_START = 2
ALREADY_RUNNING = 3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m roost.server", description="The control plane of Roost.")
    parser.add_argument("--home", type=Path, help="folder of everything it keeps (ROOST_HOME, ~/.roost)")
    parser.add_argument("--host", help="address to listen on (ROOST_HOST, 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (ROOST_PORT, that of last time or any)")
    parser.add_argument("--ready-fd", type=int, help="file descriptor that gets the line `ready URL` once it listens")
    given = parser.parse_args(arguments)
    try:
        settings = read(os.environ, home=given.home, host=given.host, port=given.port)
        return _serve(settings, given.ready_fd)
    except RoostError as error:
        return _say(error.message, error.hint)
    except OSError as error:
        return _say(f"The control plane cannot start: {error.strerror or error}: {error.filename or 'no file named'}.")


def _serve(settings: Settings, ready_fd: int | None) -> int:
    umasks.close()
    home.prepare(settings)
    try:
        home.lock(settings)
    except Conflict as error:
        _say(error.message, "`roost status` shows it, `roost down` ends it.")
        return ALREADY_RUNNING
    listener = home.bind(settings)
    gc.disable()  # a fifth of the start otherwise goes into collecting what is being loaded; `serving` turns it on again
    from roost.server.serving import serve  # noqa: PLC0415 loads the web framework and the database, half a second

    return serve(settings, listener, ready_fd)


def _say(message: str, hint: str = "") -> int:
    sys.stderr.write(f"roost.server: {message}" + (f" hint: {hint}" if hint else "") + "\n")
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
