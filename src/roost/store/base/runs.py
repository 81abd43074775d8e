"""Runs: creating, finding, moving and claiming them. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.runs import Run, RunEvent, RunKind, RunStatus, Submission
from roost.store.base.leases import Lease


@dataclass(frozen=True, kw_only=True)
class RunQuery:
    """A selection of runs; newest first."""

    workspace: str
    experiment: str | None = None
    status: Sequence[RunStatus] = ()
    kind: RunKind | None = None
    """None: for an experiment, all kinds; for a workspace, all but the replicas of endpoints."""
    parent_id: str | None = None
    include_children: bool = False
    """False: only runs without a parent (when `parent_id` is None)."""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Each key must exist; a value other than None must be equal."""
    properties: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100
    before: str | None = None
    """Only runs older than the run of this id: the next page."""
    since: float | None = None
    """Only runs submitted at that time or later."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Sorts runs by a value; those without one come last."""

    column: str
    """A field (`created`, `duration`, `status`, …), or `params.NAME`, `metrics.NAME`, `tags.NAME`."""
    descending: bool = False
    skip: int = 0
    """Number of runs to skip: the next page."""


@dataclass(frozen=True, kw_only=True)
class RunColumns:
    """The arguments, metrics and tags of a selection's runs, by name."""

    params: tuple[str, ...]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]


class Runs(Protocol):
    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        """Returns the run, and True when it is new. Assigns its number and writes its first event. The experiment must exist.
        The same id with the same submission is the same run; with another it raises Conflict."""

    def get(self, run_id: str) -> Run: ...
    def many(self, run_ids: Sequence[str]) -> Sequence[Run]:
        """Those that exist, in the order of submission."""

    def list(self, query: RunQuery) -> Sequence[Run]: ...
    def ranked(self, query: RunQuery, order: Order) -> Sequence[Run]:
        """The runs of a selection, sorted by a value over all of them; `before` is ignored."""

    def texts(self, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
        """The same runs as `list` or `ranked` in the same order, by id, each as the JSON text of a Run, so that a list
        decodes no specification."""

    def columns(self, query: RunQuery) -> RunColumns:
        """The arguments, metrics and tags of a selection's runs; the limit is ignored."""

    def events(self, run_id: str) -> Sequence[RunEvent]: ...
    def apply(self, run_id: str, event: RunEvent, *, lease: Lease | None = None, attempt: int = 0) -> tuple[Run, bool]:
        """The only way to change a status: `advance`, the row and its event in one transaction. Returns the run, and True
        when it moved. Raises Conflict when the lease is lost, or when the run is at another attempt."""

    def annotate(
        self,
        run_id: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        display_name: str | None = None,
        description: str | None = None,
    ) -> Run:
        """Tags may change; a property that already has another value raises Conflict."""

    def heard(self, run_id: str, at: float) -> Run:
        """Records a sign of life of an agent or client. Does not change the revision."""

    def claim(self, target: str, limit: int, *, event: Callable[[Run], RunEvent]) -> Run | None:
        """Takes the oldest Queued run of a target, moved by `event`, if there are enough places: each run takes as many of
        the `limit` places as it has nodes, and one that requests more than exist takes all. No run overtakes it. Otherwise
        None."""

    def holding(self, target: str) -> int:
        """The number of runs that hold a node there."""

    def active(self) -> int:
        """The number of runs that hold a node anywhere."""

    def touch_all(self, status: RunStatus) -> None:
        """Makes all runs in a status due at once, because the condition they wait for has changed."""

    def delete(self, run_id: str) -> Sequence[str]:
        """Deletes a run, the runs below it and all their data; returns their ids. Raises Conflict, and deletes none, when one
        of them has not ended. Returns nothing, without an error, when the run does not exist. Its number is never used again."""
