"""Runs: making, finding, moving and claiming them. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.runs import Run, RunEvent, RunKind, RunStatus, Submission
from roost.store.base.leases import Lease


@dataclass(frozen=True, kw_only=True)
class RunQuery:
    """Which runs; newest first."""

    workspace: str
    experiment: str | None = None
    status: Sequence[RunStatus] = ()
    kind: RunKind | None = None
    """None for all of an experiment's; of a workspace's all but the replicas of endpoints, which are nobody's work."""
    parent_id: str | None = None
    include_children: bool = False
    """Without it only runs that have no parent (when `parent_id` is None)."""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Each key must be there; a value other than None must be equal."""
    properties: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100
    before: str | None = None
    """Only runs older than the run of this id: the next page."""
    since: float | None = None
    """Only runs submitted at that time or later."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Runs by a value; those that have none come last."""

    column: str
    """A field (`created`, `duration`, `status`, …), or `params.NAME`, `metrics.NAME`, `tags.NAME`."""
    descending: bool = False
    skip: int = 0
    """So many are left out: the next page."""


@dataclass(frozen=True, kw_only=True)
class RunColumns:
    """What the runs of a selection have to show beside their fields, by name."""

    params: tuple[str, ...]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]


class Runs(Protocol):
    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        """The run and whether it is new. Gives it its number; writes its first event. The experiment must exist.
        The same id with the same submission is the same run; with another it raises Conflict."""

    def get(self, run_id: str) -> Run: ...
    def many(self, run_ids: Sequence[str]) -> Sequence[Run]:
        """Those that are there, in the order of submission."""

    def list(self, query: RunQuery) -> Sequence[Run]: ...
    def ranked(self, query: RunQuery, order: Order) -> Sequence[Run]:
        """The runs of a selection by a value, all of them considered; `before` does not matter."""

    def texts(self, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
        """The same runs as `list` or `ranked` in the same order, by id, each as the JSON text of a Run: a list decodes no
        specification."""

    def columns(self, query: RunQuery) -> RunColumns:
        """The arguments, metrics and tags that runs of a selection have; its limit does not matter."""

    def events(self, run_id: str) -> Sequence[RunEvent]: ...
    def apply(self, run_id: str, event: RunEvent, *, lease: Lease | None = None, attempt: int = 0) -> tuple[Run, bool]:
        """The only way a status changes: `advance`, the row and its event in one transaction; and whether anything moved.
        With a lease: Conflict when that is lost; with an attempt: when the run is at another one."""

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
        """Tags may change; a property that is set already with another value raises Conflict."""

    def heard(self, run_id: str, at: float) -> Run:
        """An agent or client spoke. Does not change the revision."""

    def claim(self, target: str, limit: int, *, event: Callable[[Run], RunEvent]) -> Run | None:
        """The oldest Queued run of a target, moved by `event`, if there is room for it: each run takes as many of the `limit`
        places as it has nodes, and one that asks for more than there are takes them all. Nobody overtakes it. Else None."""

    def holding(self, target: str) -> int:
        """How many runs hold a node there."""

    def active(self) -> int:
        """How many runs hold a node, wherever."""

    def touch_all(self, status: RunStatus) -> None:
        """Makes all runs in a status due at once: what they wait for has changed."""

    def delete(self, run_id: str) -> Sequence[str]:
        """Deletes a run, the runs below it and everything that belongs to them; their ids. Conflict when one of them has not
        ended: then none goes. Nothing, and no error, when there is no such run. Its number is not given again."""
