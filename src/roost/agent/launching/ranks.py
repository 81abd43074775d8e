"""The logs of a node by their names in the run's history: one for a run of one process, else one for each rank.

The output of processes without a rank (a launcher, a command of another node) goes to the node's own log. The control plane
merges all of them.
"""

import contextlib
from functools import cache
from pathlib import Path

from roost.agent.folder import Folder
from roost.domain.errors import InvalidInput
from roost.domain.files import NODE_LOG, RANK_LOG, STD_LOG
from roost.domain.plans import Plan
from roost.domain.topology import by_rank
from roost_job.mpi import FAILED


@cache
def plan_of(folder: Folder) -> Plan | None:
    """The plan in this folder; None when it cannot be read."""
    try:
        return folder.read_plan()[0]
    except InvalidInput:
        return None


def are_apart(folder: Folder) -> bool:
    """True when each rank has its own log."""
    plan = plan_of(folder)
    return plan is not None and by_rank(plan.spec.launch, plan.spec.node_count, plan.spec.topology)


def log_of(folder: Folder, rank: int) -> Path:
    """The log file of a rank's process; -1 for a process without a rank."""
    if rank < 0 or not are_apart(folder):
        return folder.std_log
    folder.ranks.mkdir(mode=0o700, exist_ok=True)
    return folder.ranks / f"{rank}.txt"


def logs(folder: Folder) -> list[tuple[str, Path]]:
    """The existing logs: name in the run's history, and path."""
    if not are_apart(folder):
        return [(STD_LOG, folder.std_log)] if folder.std_log.exists() else []
    plan = plan_of(folder)
    found = [(int(path.stem), path) for path in folder.ranks.glob("*.txt") if path.stem.isdigit()]
    named = [(RANK_LOG.format(rank), path) for rank, path in sorted(found)]
    if folder.std_log.exists() and folder.std_log.stat().st_size:
        named.append((NODE_LOG.format(plan.node_rank if plan else 0), folder.std_log))
    return named


def failed(folder: Folder) -> tuple[int, int, Path] | None:
    """Of the ranks that MPI started here, the first that failed: the rank, its exit code, its log."""
    for mark in sorted(folder.ranks.glob(f"*{FAILED}"), key=lambda path: path.stat().st_mtime_ns):
        with contextlib.suppress(ValueError):  # not yet written completely
            return int(mark.stem), int(mark.read_text()), mark.with_suffix(".txt")
    return None


def agent_log(folder: Folder) -> str:
    """The name of the agent's own log."""
    plan = plan_of(folder)
    return f"system_logs/agent_{plan.node_rank}.log" if plan and plan.node_rank else "system_logs/agent.log"
