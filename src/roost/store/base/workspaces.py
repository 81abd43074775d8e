"""Workspaces and the experiments in them. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.workspaces import Experiment, Workspace


class Workspaces(Protocol):
    def ensure(self, workspace: Workspace) -> Workspace:
        """The workspace, created if the name is new; an existing one stays unchanged."""

    def get(self, name: str) -> Workspace: ...
    def list(self) -> Sequence[Workspace]: ...


class Experiments(Protocol):
    def ensure(self, experiment: Experiment) -> Experiment:
        """The experiment by (workspace, name), created if it is new; an existing one stays unchanged."""

    def get(self, workspace: str, name: str) -> Experiment: ...
    def list(self, workspace: str, *, replicas: bool = False) -> Sequence[Experiment]:
        """By name, including archived ones; with `replicas` also those that only ever held an endpoint's replicas."""

    def annotate(
        self,
        workspace: str,
        name: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
    ) -> Experiment: ...
    def archive(self, workspace: str, name: str, at: float | None) -> Experiment:
        """Archives it as of `at`, or reactivates it with None. Its runs stay."""

    def delete(self, workspace: str, name: str) -> None:
        """Raises Conflict while it has runs."""
