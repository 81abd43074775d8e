"""What processes take of the processor and of memory, out of /proc: nanoseconds that they were on a core, so that a busy machine
changes nothing about them."""

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

Groups = Mapping[str, list[int]]
"""Process ids by what they are."""


def processor_seconds(pids: Iterable[int]) -> float:
    """Of all their threads; a process that is gone counts nothing."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    return total / 1e9


def machine_seconds() -> tuple[float, float]:
    """What all processors together have done, and the time that they had."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - fields[3] - fields[4]) / tick, sum(fields) / tick


def memory(pid: int) -> float:
    """Megabytes, shared pages counted once (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


def agents(home: Path) -> Groups:
    """The agents, keepers and scripts of the runs that have a folder in this home."""
    found: dict[str, list[int]] = {"agents": [], "keepers": [], "scripts": []}
    for note in home.glob("runs/*/agent.json"):
        with contextlib.suppress(OSError, ValueError):
            agent = int(json.loads(note.read_bytes())["pid"])
            found["keepers"].append(int(Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1]))
            found["agents"].append(agent)
            found["scripts"] += [
                int(word)
                for thread in os.listdir(f"/proc/{agent}/task")
                for word in Path(f"/proc/{agent}/task/{thread}/children").read_text().split()
            ]
    return found
