"""The promise of a store: everything the control plane knows, apart from bytes, which are in `blobs`.

**Threads**: every method may be called from any thread, and returns when its transaction is durable.
**Atomic**: each method is one transaction; when it raises, nothing was changed.
**Twice**: creating what exists with the same content returns it; with other content it raises Conflict.
**Raises**: NotFound, Conflict, InvalidInput of `domain.errors`; DiskFull when there is no room.
Times are passed in; a store has no clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from roost.domain.compute import Compute
from roost.domain.files import RunFile
from roost.domain.metrics import Batch, Series, Space
from roost.domain.people import Token
from roost.domain.runs import Run, RunEvent, RunKind, RunStatus, Submission
from roost.domain.workspaces import Experiment, Workspace


@dataclass(frozen=True, kw_only=True)
class RunQuery:
    """Which runs; newest first."""

    workspace: str
    experiment: str | None = None
    status: Sequence[RunStatus] = ()
    kind: RunKind | None = None
    parent_id: str | None = None
    include_children: bool = False
    """Without it only runs that have no parent (when `parent_id` is None)."""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Each key must be there; a value other than None must be equal."""
    properties: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100
    before: str | None = None
    """Only runs older than the run of this id: the next page."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A piece of work that one control loop holds until `until`; the holder's writes are refused after someone else took it."""

    run: Run
    token: str
    until: float


@dataclass(frozen=True, slots=True)
class SpoolState:
    offset: int
    """The high-water mark: bytes that were taken in."""
    names: Mapping[int, str]
    space: Space
    damaged: bool


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One line per metric: what lists and searches need without touching its points."""

    name: str
    space: Space
    kind: str
    """"scalar", "list", "row", "table", "image", …: the kind of the last point."""
    count: int
    last: float | None
    """The last finite or non-finite number; None when the metric is not a number."""
    least: float | None
    most: float | None
    last_step: int | None
    last_at: float


class Workspaces(Protocol):
    def ensure(self, workspace: Workspace) -> Workspace:
        """That workspace, made if there is none of its name; what is there stays as it is."""

    def get(self, name: str) -> Workspace: ...
    def list(self) -> Sequence[Workspace]: ...
    def ensure_experiment(self, experiment: Experiment) -> Experiment:
        """That experiment by (workspace, name), made if there is none."""

    def get_experiment(self, workspace: str, name: str) -> Experiment: ...
    def list_experiments(self, workspace: str) -> Sequence[Experiment]: ...
    def ensure_compute(self, compute: Compute) -> Compute:
        """Made, or its limit changed."""

    def get_compute(self, name: str) -> Compute: ...


class Runs(Protocol):
    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        """The run and whether it is new. Gives it its number; writes its first event. The experiment must exist.
        The same id with the same submission is the same run; with another it raises Conflict."""

    def get(self, run_id: str) -> Run: ...
    def list(self, query: RunQuery) -> Sequence[Run]: ...
    def events(self, run_id: str) -> Sequence[RunEvent]: ...
    def apply(self, run_id: str, event: RunEvent, *, lease: str = "") -> tuple[Run, bool]:
        """The only way a status changes: `advance`, the row and its event in one transaction; and whether anything moved.
        With a lease token: Conflict when the run is leased to another by now."""

    def annotate(
        self,
        run_id: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        display_name: str | None = None,
    ) -> Run:
        """Tags may change; a property that is set already with another value raises Conflict."""

    def heard(self, run_id: str, at: float) -> Run:
        """An agent or client spoke. Does not change the revision."""

    def claim(self, target: str, limit: int, *, at: float, event: Callable[[Run], RunEvent]) -> Run | None:
        """The oldest Queued run of a target, moved by `event`, if fewer than `limit` runs hold a node there; else None."""

    def ahead(self, run: Run) -> int:
        """How many Queued runs of the same target stand before it."""

    def holding(self, target: str) -> int:
        """How many runs hold a node there."""

    def lease(self, *, statuses: Sequence[RunStatus], at: float, seconds: float, limit: int) -> Sequence[Lease]:
        """Runs in these statuses that are due (see `release`) and that nobody holds, leased until `at + seconds`."""

    def renew(self, run_id: str, token: str, *, until: float) -> bool:
        """Holds a lease longer, for work that takes its time; False when the lease was lost."""

    def release(self, run_id: str, token: str, *, due_at: float) -> None:
        """Gives a lease back; the run is not due again before then. Nothing happens when the lease was lost."""

    def touch(self, run_id: str) -> None:
        """Makes a run due at once (a cancel came, an agent spoke)."""


class Metrics(Protocol):
    def spool(self, run_id: str, spool: str) -> SpoolState:
        """Zero and no names for a spool not seen yet."""

    def append(self, run_id: str, spool: str, offset: int, batch: Batch) -> int:
        """Takes a batch in if `offset` is the spool's high-water mark, and moves the mark by `batch.consumed`; else
        changes nothing. Either way returns the mark. Small chunks of one metric are merged as they come."""

    def summaries(self, run_id: str, space: Space = Space.USER) -> Sequence[MetricSummary]: ...
    def series(self, run_id: str, name: str, space: Space = Space.USER) -> Sequence[Sequence[Series]]:
        """The metric's series, grouped by spool, in the order they came. Empty when there is no such metric."""


class Streams(Protocol):
    """Live text of a run (stdout, files under ./logs), addressed by offset, until it is sealed into a blob."""

    def append(self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False) -> int:
        """As for spools: taken in only at the mark; returns the mark. `reset` empties the stream first."""

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        """Bytes from `offset`, at most `limit`; empty past the end or when there is no such stream."""

    def size(self, run_id: str, name: str) -> int | None:
        """Bytes so far; None when there is no such stream."""

    def names(self, run_id: str) -> Sequence[str]: ...
    def drop(self, run_id: str, names: Sequence[str]) -> None:
        """Called once the sealed blobs stand in the run's files."""


class Files(Protocol):
    def put(self, run_id: str, files: Sequence[RunFile]) -> None:
        """Adds or replaces by path."""

    def get(self, run_id: str, path: str) -> RunFile: ...
    def list(self, run_id: str, prefix: str = "") -> Sequence[RunFile]:
        """By path. `prefix` is a folder (`outputs` has `outputs/a`, not `outputs2/a`), or one file's own path."""


class People(Protocol):
    def add_token(self, token: Token) -> None: ...
    def find_token(self, digest: str) -> Token | None: ...
    def expire_run_tokens(self, run_id: str, at: float) -> None:
        """The tokens of a run are good until then."""


class Store(Protocol):
    """All of it. `close` waits for what is being written."""

    @property
    def workspaces(self) -> Workspaces: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def metrics(self) -> Metrics: ...
    @property
    def streams(self) -> Streams: ...
    @property
    def files(self) -> Files: ...
    @property
    def people(self) -> People: ...
    def close(self) -> None: ...
