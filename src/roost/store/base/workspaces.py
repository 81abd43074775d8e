"""Workspaces and the experiments in them. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.domain.workspaces import Experiment, Workspace


class Workspaces(Protocol):
    def ensure(self, workspace: Workspace) -> Workspace:
        """That workspace, made if there is none of its name; what is there stays as it is."""

    def get(self, name: str) -> Workspace: ...
    def list(self) -> Sequence[Workspace]: ...


class Experiments(Protocol):
    def ensure(self, experiment: Experiment) -> Experiment:
        """That experiment by (workspace, name), made if there is none; what is there stays as it is."""

    def get(self, workspace: str, name: str) -> Experiment: ...
    def list(self, workspace: str, *, replicas: bool = False) -> Sequence[Experiment]:
        """By name, those that were put away too; with `replicas` also those that never held anything but an endpoint's."""

    def annotate(
        self,
        workspace: str,
        name: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
    ) -> Experiment: ...
    def archive(self, workspace: str, name: str, at: float | None) -> Experiment:
        """Puts it away since then, or with None takes it out again. Its runs stay."""

    def delete(self, workspace: str, name: str) -> None:
        """Conflict while it has runs."""
