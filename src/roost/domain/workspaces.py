"""Workspaces and experiments: where everything a person makes is found again."""

from dataclasses import dataclass

DEFAULT_WORKSPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    name: str
    user: str
    created_at: float
    subscription_id: str = ""
    resource_group: str = ""
    location: str = "local"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    id: str
    workspace: str
    name: str
    user: str
    created_at: float
