"""Makes the run's folder for an agent on this machine: locked, with the plan in it."""

import json
import os
from pathlib import Path

from roost.domain import names
from roost.domain.codec import encode
from roost.domain.errors import Conflict, DiskFull, RoostError
from roost.domain.plans import Access, Plan, mark, seat
from roost.machine import files, locks


def make(home: Path, plan: Plan, access: Access) -> tuple[Path, int]:
    """The folder and its held lock, as a file descriptor that the caller passes on and closes. Conflict when an agent has it.

    Nothing is written before the lock is held, so a second start does not change the plan of the first.
    """
    folder = home / "runs" / seat(names.run_id(plan.run_id), plan.node_rank, plan.attempt)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _take(lock, folder.name)
            files.write(folder / "plan.json", json.dumps({"plan": encode(plan), "access": encode(access)}).encode())
        except BaseException:
            os.close(lock)
            raise
    except OSError as error:
        raise DiskFull(f"The run's folder {folder} cannot be made: {error.strerror}.") from error
    return folder, lock


def mark_of(home: Path, seat: str) -> str:
    """The mark of this agent's processes in this home."""
    found = os.stat(home)
    return mark(seat, found.st_dev, found.st_ino)


def is_locked(folder: Path) -> bool:
    """True while an agent or its keeper holds the folder's lock."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        _take(lock, folder.name)
    except RoostError:
        return True
    finally:
        os.close(lock)
    return False


def _take(lock: int, seat: str) -> None:
    if not locks.take(lock):
        raise Conflict(f"Run {seat} has an agent on this machine already.")
