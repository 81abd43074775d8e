"""Which fronts live on this machine, found by the locks that they hold. Needs no control plane."""

import fcntl
import os
from pathlib import Path

from roost.domain.errors import InvalidInput
from roost.serving import configuration
from roost.serving.configuration import FrontConfig


def is_alive(folder: Path) -> bool:
    """Whether a front has the folder."""
    try:
        lock = os.open(folder / configuration.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def alive(home: Path) -> list[FrontConfig]:
    """What each front of this home does, by name."""
    found = []
    for folder in sorted((home / "endpoints").glob("*")):
        if is_alive(folder):
            try:
                found.append(configuration.read(folder))
            except InvalidInput:
                continue
    return found
