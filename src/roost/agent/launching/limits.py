"""Limits of a node's cores and memory, enforced by the kernel: the run's processes are in their own control group, below the
folder in ROOST_CGROUP. Without that folder, sizes are not enforced. A limit that cannot be set is logged; the run continues.

Supports version 2 of control groups; of version 1 only memory, since its processor time is in another hierarchy.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.domain.plans import Plan

ROOT = "ROOST_CGROUP"
"""The variable with a control group's folder in which the agent may make further groups."""
_PERIOD = 100_000
_ENTER = 'echo $$ >"$0" && exec "$@"'
log = logging.getLogger("roost.agent")


def group(mark: str, own: Mapping[str, str] = os.environ) -> Path | None:
    """The control group of the processes with this mark; None when there is none."""
    place = Path(own[ROOT]) / mark if own.get(ROOT) else None
    return place if place is not None and place.is_dir() else None


def make(mark: str, plan: Plan, own: Mapping[str, str] = os.environ) -> None:
    """Sets up the group of a node that has limits. Safe twice."""
    if plan.image or (not plan.cores and not plan.memory):  # containers have limits of their own
        return
    place = Path(own[ROOT]) / mark if own.get(ROOT) else None
    wish = f"{plan.cores} cores, {plan.memory / 2**30:g} GiB"
    if place is None:
        log.info("The node's size (%s) is a wish: %s names no control group.", wish, ROOT)
        return
    try:
        for word in ("+memory", "+cpu"):
            with contextlib.suppress(OSError):  # there already, or a hierarchy of version 1
                _write(place.parent / "cgroup.subtree_control", word)
        place.mkdir(exist_ok=True)
        _limit(place, plan)
    except OSError as error:
        remove(mark, own)
        log.warning("The node's size (%s) cannot be held: %s: %s.", wish, error.filename or place, error.strerror)
        return
    log.info("The node has %s.", wish)


def _limit(place: Path, plan: Plan) -> None:
    old = (place / "memory.limit_in_bytes").exists()
    if plan.memory:
        _write(place / ("memory.limit_in_bytes" if old else "memory.max"), str(plan.memory))
        with contextlib.suppress(OSError):  # without swap this file does not exist
            _write(place / "memory.swap.max", "0")
    if plan.cores and not old:
        _write(place / "cpu.max", f"{int(plan.cores * _PERIOD)} {_PERIOD}")


def inside(place: Path | None, argv: Sequence[str], path: str) -> Sequence[str]:
    """The command, made to enter the group before it starts. One that is not found stays unchanged: its start looks it up."""
    if place is None or shutil.which(argv[0], path=path) is None:
        return argv
    return ("/bin/sh", "-c", _ENTER, str(place / "cgroup.procs"), *argv)


def memory_words(mark: str, memory: int, own: Mapping[str, str] = os.environ) -> str:
    """A sentence that the kernel ended processes of the group for lack of memory; empty when it did not."""
    place = group(mark, own)
    kills = _kills(place) if place else 0
    if not kills:
        return ""
    what = "one of its processes" if kills == 1 else f"{kills} of its processes"
    return f"The node ran out of memory: its limit is {memory / 2**30:.4g} GiB, and the kernel ended {what}."


def _kills(place: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError, ValueError):
            counts = dict(line.split() for line in (place / name).read_text().splitlines())
            if "oom_kill" in counts:
                return int(counts["oom_kill"])
    return 0


def remove(mark: str, own: Mapping[str, str] = os.environ) -> None:
    """Removes the group, once its processes have ended. Safe twice."""
    place = group(mark, own)
    if place is not None:
        with contextlib.suppress(OSError):
            place.rmdir()


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)  # without O_CREAT: only the kernel makes these files
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
