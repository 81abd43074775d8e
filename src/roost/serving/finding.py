"""Finds the running fronts of this machine by the locks that they hold. Needs no control plane."""

from pathlib import Path

from roost.domain.errors import InvalidInput
from roost.machine import locks
from roost.serving import configuration
from roost.serving.configuration import FrontConfig


def is_alive(folder: Path) -> bool:
    """True when a front holds the folder."""
    return locks.is_held(folder / configuration.LOCK)


def alive(home: Path) -> list[FrontConfig]:
    """The configuration of each running front of this home, by name."""
    found = []
    for folder in sorted((home / "endpoints").glob("*")):
        if is_alive(folder):
            try:
                found.append(configuration.read(folder))
            except InvalidInput:
                continue
    return found
