"""What an engine hands to an agent: everything it needs to know, as one value that can be printed and compared."""

from dataclasses import dataclass
from enum import StrEnum

from roost.domain.runs import RunSpec

LOOPBACK = "127.0.0.1"


def mark(run_id: str, device: int, inode: int) -> str:
    """What the processes of a run carry, to be found again by their own control plane alone: the run, and its home's folder by
    device and inode. A home that was copied or restored has the same runs, and is another folder."""
    return f"{run_id}@{device:x}-{inode:x}"


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
    image: str = ""
    """Id of the image that the script runs in, once the node has it; empty for no container."""
    node_rank: int = 0
    node: str = ""
    """Id of the cluster's node it runs on; empty on `local`, which has none."""
    address: str = LOOPBACK
    """Where other nodes of this machine reach it."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How an agent reaches the control plane. Never printed, never stored outside the agent's own folder."""

    url: str
    token: str
    """Scoped to the run."""
    endpoint_file: str = ""
    """On the control plane's own machine: where its current address is written (it may come back on another port)."""
