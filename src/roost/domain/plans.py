"""What an engine hands to an agent: everything it needs to know, as one value that can be printed and compared."""

from dataclasses import dataclass
from enum import StrEnum

from roost.domain.conda import INDEX_IF_UNREACHABLE
from roost.domain.runs import RunSpec

LOOPBACK = "127.0.0.1"


def mark(seat: str, device: int, inode: int) -> str:
    """What the processes of a run carry, to be found again by their own control plane alone: the run, and its home's folder by
    device and inode. A home that was copied or restored has the same runs, and is another folder."""
    return f"{seat}@{device:x}-{inode:x}"


def seat(run_id: str, node_rank: int = 0, attempt: int = 1) -> str:
    """One agent's place in a run: what its folder is called. The run's id alone for the first node at the first attempt."""
    return run_id + (f"+{node_rank}" if node_rank else "") + (f"~{attempt}" if attempt > 1 else "")


def run_of(seat: str) -> str:
    """The run that a seat is in; neither sign can stand in a run's id."""
    return seat.partition("~")[0].partition("+")[0]


class Errand(StrEnum):
    RUN = "run"
    """Prepare, launch, ship, finish."""
    BUILD = "build"
    """Lock and build the run's environment; the run itself comes later."""
    SALVAGE = "salvage"
    """The agent is gone: end what is left of its processes, ship what it left behind, report the end."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One agent's work."""

    run_id: str
    workspace: str
    experiment: str
    spec: RunSpec
    subscription_id: str = ""
    resource_group: str = ""
    """Of the workspace, for scripts that look for them."""
    errand: Errand = Errand.RUN
    lock: str = ""
    """Blob of the lock of the run's environment; empty for none."""
    index_lock: str = ""
    """For a build: blob of the lock of the same recipe that a package index gave before; empty for none."""
    conda_packages: str = INDEX_IF_UNREACHABLE
    """For a build: where conda packages may come from, one of `PACKAGE_SOURCES`."""
    archive: bool = False
    """Whether a build agent keeps every file of what it has built."""
    image: str = ""
    """Id of the image that the script runs in, once the node has it; empty for no container."""
    node_rank: int = 0
    """Of `spec.node_count`; each node has an agent of its own."""
    attempt: int = 1
    """Counts up when a run that lost a node of low priority begins again."""
    node: str = ""
    """Id of the cluster's node it runs on; empty on `local`, which has none."""
    preemptible: bool = False
    """Whether its node may be taken away: then `./outputs` is kept while the script runs."""
    gpus: tuple[int, ...] = ()
    """Indexes of the GPUs that the script sees; empty for all that the node has."""
    cores: int = 0
    memory: int = 0
    """What a node of its cluster's size has, memory in bytes; held to where the node allows it. 0 for no limit."""
    address: str = LOOPBACK
    """Where other nodes of this machine reach it."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How an agent reaches the control plane. Never printed, never stored outside the agent's own folder."""

    url: str
    token: str
    """Scoped to the run."""
    endpoint_file: str = ""
    """Where its current address is written (it may come back on another port), for agents that share its disk; else empty."""
