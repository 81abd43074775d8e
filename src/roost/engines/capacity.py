"""The capacity of this machine, for engines whose nodes share it."""

import os
from pathlib import Path

from roost.domain.compute import Machine


def of_this_machine() -> Machine:
    """Its cores, memory and NVIDIA cards; the driver lists the cards."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cards = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return Machine(cores=len(os.sched_getaffinity(0)), memory_gb=round(memory / 2**30, 1), gpus=cards)
