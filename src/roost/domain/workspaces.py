"""Workspaces and experiments: where everything a person makes is found again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_WORKSPACE = "default"
NO_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
"""Stands where scripts and files expect the subscription of a workspace that has none."""
NO_RESOURCE_GROUP = "roost"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a workspace stood in Azure; kept for the scripts that print it."""

    subscription_id: str = ""
    resource_group: str = ""
    location: str = "local"
    sku: str = "Basic"
    friendly_name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Workspace(Origin):
    name: str
    user: str
    created_at: float


@dataclass(frozen=True, kw_only=True)
class Experiment:
    id: str
    workspace: str
    name: str
    user: str
    created_at: float
    tags: Mapping[str, str | None] = field(default_factory=dict)
    archived_at: float | None = None
    """When it was put away; None while it is active."""
