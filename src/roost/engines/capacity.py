"""What this machine has, for engines whose nodes share it."""

import os
from pathlib import Path

from roost.domain.compute import Machine


def of_this_machine() -> Machine:
    """Its cores, memory and graphics cards; the cards as their driver lists them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cards = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return Machine(cores=len(os.sched_getaffinity(0)), memory_gb=round(memory / 2**30, 1), gpus=cards)
