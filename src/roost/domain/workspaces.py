"""Workspaces and experiments, which hold everything that a person makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_WORKSPACE = "default"
NO_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
"""The subscription that scripts and files see for a workspace without one."""
NO_RESOURCE_GROUP = "roost"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The workspace's place in Azure; stored for scripts that print it."""

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
    """Time when it was archived; None while it is active."""
