"""How the process of a server ends: always. A thread that hangs keeps neither it nor the home's lock.

Until a server listens, the kernel ends it on a signal, whatever it is at. Afterwards `within` bounds how long an end may take.
"""

import contextlib
import faulthandler
import logging
import os
import signal
import sys
from typing import NoReturn

SECONDS = 10.0
"""Longer than an end takes, shorter than `roost down` waits."""
_TERMINATED = 128 + signal.SIGTERM


def listen_to_signals() -> None:
    """SIGTERM ends the process at once, also where whoever started it ignored that; so does Ctrl-C."""
    # The kernel's own way, which needs no Python to run; it does not work for the first process of a container.
    first = os.getpid() == 1
    signal.signal(signal.SIGTERM, (lambda *_: os._exit(_TERMINATED)) if first else signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def within(seconds: float = SECONDS) -> None:
    """Ends the process after so many seconds, with the stack of every thread in its log. A second call changes nothing."""
    global _bounded
    if not _bounded:
        _bounded = True
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)


_bounded = False


def leave(code: int) -> NoReturn:
    """Ends the process now; threads that are left are not waited for."""
    within()
    for flush in (logging.shutdown, sys.stdout.flush, sys.stderr.flush):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            flush()
    os._exit(code)
