"""The abilities of this machine that a curated environment depends on: determined once per process."""

import os
import shutil
from dataclasses import dataclass
from functools import cache

from roost.environments import pythons

_GPU_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


@dataclass(frozen=True, kw_only=True)
class Machine:
    pythons: tuple[str, ...]
    """Minor versions of the installed Pythons."""
    gpu: bool
    mpi: bool
    """True when the build tools of Horovod are installed: a compiler, and Open MPI's."""


def has_gpu() -> bool:
    return any(os.path.exists(device) for device in _GPU_DEVICES)


@cache
def here() -> Machine:
    return Machine(
        pythons=tuple(sorted(pythons.minors())),
        gpu=has_gpu(),
        mpi=bool(shutil.which("mpicxx") and (shutil.which("g++") or shutil.which("c++"))),
    )
