"""Makes sure that the server's process ends: a thread that hangs holds up neither the process nor the home's lock.

Until a server listens, the kernel ends it on a signal at any point. After that, `within` limits the time an end may take.
"""

import contextlib
import faulthandler
import logging
import os
import signal
import sys
from typing import NoReturn

SECONDS = 10.0
"""Longer than a normal end takes, shorter than `roost down` waits."""
_TERMINATED = 128 + signal.SIGTERM


def listen_to_signals() -> None:
    """Makes SIGTERM end the process at once, even if the parent process ignored it; the same for Ctrl-C."""
    # The kernel's default action needs no Python to run, but does not work for the first process of a container.
    first = os.getpid() == 1
    signal.signal(signal.SIGTERM, (lambda *_: os._exit(_TERMINATED)) if first else signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def within(seconds: float = SECONDS) -> None:
    """Ends the process after this time, with the stack of every thread in its log. A second call changes nothing."""
    global _bounded
    if not _bounded:
        _bounded = True
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)


_bounded = False


def leave(code: int) -> NoReturn:
    """Ends the process now, without waiting for threads."""
    within()
    for flush in (logging.shutdown, sys.stdout.flush, sys.stderr.flush):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            flush()
    os._exit(code)
