"""A plan: everything that an engine gives to an agent, as one value that can be printed and compared."""

from dataclasses import dataclass
from enum import StrEnum

from roost.domain.conda import INDEX_IF_UNREACHABLE
from roost.domain.runs import RunSpec

LOOPBACK = "127.0.0.1"


def mark(seat: str, device: int, inode: int) -> str:
    """The mark that a run's processes carry, so that only their own control plane finds them again: the seat, and the home's
    folder by device and inode. A copied or restored home has the same runs but is another folder."""
    return f"{seat}@{device:x}-{inode:x}"


def seat(run_id: str, node_rank: int = 0, attempt: int = 1) -> str:
    """One agent's place in a run, and the name of its folder. Only the run's id for the first node at the first attempt."""
    return run_id + (f"+{node_rank}" if node_rank else "") + (f"~{attempt}" if attempt > 1 else "")


def run_of(seat: str) -> str:
    """The run of a seat; neither separator can be part of a run's id."""
    return seat.partition("~")[0].partition("+")[0]


class Errand(StrEnum):
    RUN = "run"
    """Prepare, launch, ship, finish."""
    BUILD = "build"
    """Lock and build the run's environment; the run itself comes later."""
    SALVAGE = "salvage"
    """The agent is gone: end its remaining processes, ship the data that it left behind, report the end."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One agent's work."""

    run_id: str
    workspace: str
    experiment: str
    spec: RunSpec
    subscription_id: str = ""
    resource_group: str = ""
    """Of the workspace, for scripts that read them."""
    errand: Errand = Errand.RUN
    lock: str = ""
    """Blob of the lock of the run's environment; empty for none."""
    index_lock: str = ""
    """For a build: blob of the recipe's earlier lock from a package index; empty for none."""
    conda_packages: str = INDEX_IF_UNREACHABLE
    """For a build: the allowed sources of conda packages, one of `PACKAGE_SOURCES`."""
    archive: bool = False
    """True when a build agent stores every file of its build."""
    image: str = ""
    """Id of the script's image, once the node has it; empty for no container."""
    node_rank: int = 0
    """Of `spec.node_count`; each node has its own agent."""
    attempt: int = 1
    """Increases when a run that lost a low-priority node starts again."""
    node: str = ""
    """Id of its node in the cluster; empty on `local`, which has none."""
    preemptible: bool = False
    """True when its node can be taken away: then `./outputs` is saved while the script runs."""
    gpus: tuple[int, ...] = ()
    """Indexes of the GPUs that the script sees; empty for all that the node has."""
    cores: int = 0
    memory: int = 0
    """The size of the cluster's nodes, memory in bytes; enforced where the node allows it. 0 for no limit."""
    address: str = LOOPBACK
    """The address at which other nodes of this machine reach it."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How an agent reaches the control plane. Never printed, never stored outside the agent's own folder."""

    url: str
    token: str
    """Limited to the run."""
    endpoint_file: str = ""
    """The file with the control plane's current address (its port may change after a restart), for agents on the same disk; else
    empty."""
