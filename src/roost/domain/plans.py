"""What an engine hands to an agent: everything it needs to know, as one value that can be printed and compared."""

from dataclasses import dataclass
from enum import StrEnum

from roost.domain.runs import RunSpec


class Errand(StrEnum):
    RUN = "run"
    """Prepare, launch, ship, finish."""
    SALVAGE = "salvage"
    """The agent is gone: end what is left of its processes, ship what it left behind, report the end."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One agent's work."""

    run_id: str
    workspace: str
    experiment: str
    spec: RunSpec
    errand: Errand = Errand.RUN
    node_rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Access:
    """How an agent reaches the control plane. Never printed, never stored outside the agent's own folder."""

    url: str
    token: str
    """Scoped to the run."""
    endpoint_file: str = ""
    """On the control plane's own machine: where its current address is written (it may come back on another port)."""
