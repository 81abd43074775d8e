"""The promise of a store: everything the control plane knows, apart from bytes, which are in `blobs`.

**Threads**: every method may be called from any thread, and returns when its transaction is durable.
**Atomic**: each method is one transaction; when it raises, nothing was changed.
**Twice**: creating what exists with the same content returns it; with other content it raises Conflict.
**Raises**: NotFound, Conflict, InvalidInput of `domain.errors`; DiskFull when there is no room.
Times are passed in; a store has no clock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from roost.domain.compute import Adjustment, Compute, Node
from roost.domain.datasets import Dataset, DataUse
from roost.domain.datastores import Datastore
from roost.domain.endpoints import Endpoint, EndpointSpec, Replica
from roost.domain.environments import Archive, Build, Environment
from roost.domain.files import RunFile
from roost.domain.gangs import Member
from roost.domain.metrics import Series, Space
from roost.domain.models import Model
from roost.domain.people import Token, TokenKind
from roost.domain.runs import Run, RunEvent, RunKind, RunStatus, Submission
from roost.domain.secrets import Secret
from roost.domain.spools import Batch
from roost.domain.workspaces import Experiment, Workspace


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


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A piece of work that one control loop holds until `until`; the holder's writes are refused after someone else took it."""

    run: Run
    token: str
    until: float


@dataclass(frozen=True, kw_only=True)
class Command:
    """What one agent of a gang asks another to execute."""

    number: int
    node_rank: int
    """Where."""
    argv: tuple[str, ...]
    exit_code: int | None = None
    """Once it has ended."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Where lines of several streams come together."""

    name: str
    prefix: bytes
    """Before each line."""


MANY = 10**9
"""More than there ever are."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """A cluster's nodes and what is asked of them."""

    nodes: tuple[Node, ...]
    held: frozenset[str]
    """Runs of those nodes that still hold theirs."""
    waiting: int
    """Runs that are queued for it."""
    asked: int
    """Nodes that those ask for, each no more than the cluster can have."""


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
    text: str | None = None
    """The last point in words, when it is no number but can be said in a few."""


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


class Runs(Protocol):
    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        """The run and whether it is new. Gives it its number; writes its first event. The experiment must exist.
        The same id with the same submission is the same run; with another it raises Conflict."""

    def get(self, run_id: str) -> Run: ...
    def list(self, query: RunQuery) -> Sequence[Run]: ...
    def ranked(self, query: RunQuery, order: Order) -> Sequence[Run]:
        """The runs of a selection by a value, all of them considered; `before` does not matter."""

    def texts(self, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
        """The same runs as `list` or `ranked` in the same order, by id, each as the JSON text of a Run: a list decodes no
        specification."""

    def columns(self, query: RunQuery) -> RunColumns:
        """The arguments, metrics and tags that runs of a selection have; its limit does not matter."""

    def events(self, run_id: str) -> Sequence[RunEvent]: ...
    def apply(self, run_id: str, event: RunEvent, *, lease: str = "", attempt: int = 0) -> tuple[Run, bool]:
        """The only way a status changes: `advance`, the row and its event in one transaction; and whether anything moved.
        With a lease token: Conflict when the run is leased to another by now; with an attempt: when it is at another one."""

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

    def lease(self, *, statuses: Sequence[RunStatus], at: float, seconds: float, limit: int) -> Sequence[Lease]:
        """Runs in these statuses that are due (see `release`) and that nobody holds, leased until `at + seconds`."""

    def renew(self, run_id: str, token: str, *, until: float) -> bool:
        """Holds a lease longer, for work that takes its time; False when the lease was lost."""

    def release(self, run_id: str, token: str, *, due_at: float) -> None:
        """Gives a lease back; the run is not due again before then. Nothing happens when the lease was lost."""

    def inherit(self) -> None:
        """Ends every lease: whoever held one is known to be gone. Their runs are due at once."""

    def touch(self, run_id: str) -> None:
        """Makes a run due at once (a cancel came, an agent spoke)."""

    def touch_all(self, status: RunStatus) -> None:
        """Makes all runs in a status due at once (what they wait for has changed)."""

    def delete(self, run_id: str) -> Sequence[str]:
        """Deletes a run, the runs below it and everything that belongs to them; their ids. Conflict when one of them has not
        ended: then none goes. Nothing, and no error, when there is no such run. Its number is not given again."""


class Computes(Protocol):
    """Targets are found in their workspace, or among those that every workspace has (whose workspace is empty)."""

    def ensure(self, compute: Compute) -> Compute:
        """Made, or its limit and engine changed."""

    def create(self, compute: Compute) -> tuple[Compute, bool]:
        """The target and whether it is new; ComputeConflict when one of that name has other settings."""

    def get(self, workspace: str, name: str) -> Compute: ...
    def list(self, workspace: str | None = None) -> Sequence[Compute]:
        """Of a workspace, with those that every one has; of all workspaces when none is given."""

    def update(self, compute: Compute) -> Compute:
        """Its settings and `modified_at` as given; nodes stay as they are."""

    def delete(self, workspace: str, name: str) -> None:
        """With its nodes. ComputeConflict while a run on it, or waiting for it, has not ended."""

    def load(self, compute: Compute, *, most: int = MANY) -> Load:
        """`most` is how far those who wait are counted: no cluster needs to know of more than it has nodes."""

    def queue(self, compute: Compute) -> tuple[Sequence[str], int]:
        """Ids of the runs that wait, in the order in which they get nodes; and how many hold one."""

    def adjust(self, compute: Compute, decide: Callable[[Compute, Load], Adjustment], *, at: float) -> bool:
        """What `decide` says of the cluster as it is now, done; and whether anything changed. Who waits is counted up to its
        limit. New nodes are preparing, with an address that no other node of any cluster has. One that is gone is left alone."""

    def claim(
        self, compute: Compute, *, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
    ) -> tuple[Run, Sequence[Node]] | None:
        """The run whose turn it is, moved by `event`, and the idle nodes that are now its own, all that it asked for; None when
        nobody waits or there are too few: then it keeps its turn, and nobody overtakes it but one of higher priority. A run
        that asks for more than the cluster can have is passed over."""

    def nodes_of(self, run_id: str) -> Sequence[Node]: ...
    def addresses(self) -> Set[str]:
        """Those that a node of any cluster has, or a run that has not ended."""

    def preempt(self, compute: Compute, node_id: str, *, at: float) -> Node:
        """The node is taken away: it goes as soon as its run has left it. NotFound when there is no such node."""


class Gangs(Protocol):
    """The agents of runs that have several nodes; the members of a run are made by the claim that gives it its nodes."""

    def members(self, run_id: str) -> Sequence[Member]:
        """By rank; none for a run of one node, or one that has no nodes now."""

    def update(self, run_id: str, node_rank: int, *, attempt: int = 0, **changes: object) -> Sequence[Member]:
        """Fields of one member as given; all of them afterwards. How a member ended is written once: another end changes
        nothing. NotFound when the run has no such member; with an attempt, Conflict when it is at another one."""

    def send(self, run_id: str, node_rank: int, argv: Sequence[str], *, key: str = "", attempt: int = 0) -> int:
        """Keeps a command for a member, until the run loses its nodes; its number. Sent again with the same key it is the same
        command. With an attempt, Conflict when the run is at another one."""

    def commands(self, run_id: str, after: int = 0) -> Sequence[Command]:
        """Those with a larger number, of all members."""

    def end_command(self, run_id: str, number: int, exit_code: int) -> None: ...


class Metrics(Protocol):
    def spool(self, run_id: str, spool: str) -> SpoolState:
        """Zero and no names for a spool not seen yet."""

    def append(self, run_id: str, spool: str, offset: int, batch: Batch) -> int:
        """Takes a batch in if `offset` is the spool's high-water mark, and moves the mark by `batch.consumed`; else
        changes nothing. Either way returns the mark. Small chunks of one metric are merged as they come."""

    def summaries(self, run_id: str, space: Space = Space.USER) -> Sequence[MetricSummary]: ...
    def summaries_of(self, run_ids: Sequence[str], names: Sequence[str] = ()) -> Mapping[str, Sequence[MetricSummary]]:
        """The summaries of many runs at once, all of them or those of these names; runs without any are left out."""

    def series(self, run_id: str, name: str, space: Space = Space.USER) -> Sequence[Sequence[Series]]:
        """The metric's series, grouped by spool, in the order they came. Empty when there is no such metric."""

    def every_series(self, run_id: str, space: Space = Space.USER) -> Mapping[str, Sequence[Sequence[Series]]]:
        """The same of all metrics, by name, in one look."""


class Pieces(Protocol):
    """Where a store puts bytes that are too many for its rows: a blob store is one. What its rows name is never swept."""

    def put(self, data: bytes) -> str:
        """Stores bytes that never change; their name."""

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]: ...


class Streams(Protocol):
    """Live text of a run (stdout, files under ./logs), addressed by offset, until it is sealed into a blob."""

    def append(
        self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False, into: Merge | None = None
    ) -> int:
        """As for spools: taken in only at the mark; returns the mark. `reset` empties the stream first. Whole lines are added to
        the stream that `into` names too, in the same transaction, very long ones broken; after a reset its earlier lines
        are taken out there."""

    def merge_rest(self, run_id: str, name: str, into: Merge) -> None:
        """A stream's last line, which no line break has ended, is merged too."""

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        """Bytes from `offset`, at most `limit`; empty past the end or when there is no such stream."""

    def size(self, run_id: str, name: str) -> int | None:
        """Bytes so far; None when there is no such stream."""

    def names(self, run_id: str) -> Sequence[str]: ...
    def drop(self, run_id: str, names: Sequence[str]) -> None:
        """Called once the sealed blobs stand in the run's files."""


class Files(Protocol):
    def put(self, run_id: str, files: Sequence[RunFile], *, node_rank: int = 0) -> Mapping[str, str]:
        """Adds or replaces by path. Of two nodes that have the same path with other content, the first one's stands there and
        the other's beside it, as long as they differ; which ones do so since now, by their path and where they stand."""

    def rename(self, run_id: str, paths: Mapping[str, str]) -> None:
        """Files get another path, where they replace what stands there."""

    def get(self, run_id: str, path: str) -> RunFile: ...
    def list(self, run_id: str, prefix: str = "") -> Sequence[RunFile]:
        """By path. `prefix` is a folder (`outputs` has `outputs/a`, not `outputs2/a`), or one file's own path."""


class Environments(Protocol):
    """Registered definitions by (workspace, name, version), and where the builds of recipes stand."""

    def register(self, environment: Environment) -> tuple[Environment, bool]:
        """With the version that it has, and whether that is new: the same definition again is the same version."""

    def get(self, workspace: str, name: str, version: str | None = None) -> Environment:
        """The newest version when none is named."""

    def list(self, workspace: str, name: str | None = None) -> Sequence[Environment]:
        """The newest version of each by name; of one name all versions, newest first."""

    def build(self, key: str, platform: str) -> Build:
        """Where it stands; an empty one when nobody has asked for it yet."""

    def claim_build(self, key: str, platform: str, run_id: str, limit: int, *, lost: str = "") -> Build:
        """Makes the run its builder if nobody builds it and fewer than `limit` builds go on; either way where it stands then.
        A builder whose run is not Preparing any more has left its place; a lock that is `lost` counts as none."""

    def end_build(self, key: str, platform: str, *, lock: str = "", at: float = 0.0, message: str = "") -> Build:
        """With a lock it is known from now on; without one, this attempt failed at that time with these words."""

    def forget_lock(self, key: str, platform: str) -> None:
        """Its lock is not known any more; a build that goes on goes on. Safe twice, and where there is none."""

    def archive(self, lock: str) -> Archive | None:
        """What is kept of a lock; None for nothing."""

    def archives(self) -> Sequence[Archive]:
        """All of them, the newest first."""

    def put_archive(self, archive: Archive) -> None:
        """In the place of what is known of the same lock."""

    def drop_archive(self, lock: str) -> bool:
        """Whether there was one. Its blobs go with the next sweep, unless something else refers to them."""


class People(Protocol):
    def add_token(self, token: Token) -> None: ...
    def find_token(self, digest: str) -> Token | None: ...
    def take_token(self, digest: str) -> Token | None:
        """Finds it and deletes it: of two who ask at once, one gets it."""

    def forget_expired(self, kinds: Sequence[TokenKind], at: float) -> None:
        """Deletes tokens of these kinds that were good until before `at`."""

    def expire_run_tokens(self, run_id: str, at: float) -> None:
        """The tokens of a run are good until then."""


@dataclass(frozen=True, slots=True)
class References:
    """Names of blobs that rows refer to."""

    files: set[str]
    """Content of runs' files."""
    models: set[str]
    """Manifests of models."""
    archives: set[str]
    """Manifests of what is kept of environments."""
    others: set[str]
    """Anything else, manifests among it. May name what is no blob: whatever looks like a name in any column counts, so that no
    new table is ever forgotten."""


@dataclass(frozen=True, kw_only=True)
class ExperimentSize:
    workspace: str
    experiment: str
    runs: int
    bytes: int
    """Of its runs' files, each as if it stood alone."""


class Upkeep(Protocol):
    def references(self, *, without: Sequence[str] = ()) -> References:
        """What must be kept; what only the runs `without` refer to is left out."""

    def sizes(self) -> Sequence[ExperimentSize]:
        """Every experiment that has runs, largest first."""

    def size(self) -> int:
        """Bytes that the database takes."""

    def compact(self) -> int:
        """Gives room that deleted rows left back to the file system; how many bytes. Others read and write meanwhile."""

    def copy_to(self, path: Path) -> None:
        """Writes all rows, as they stood at one moment, to a new SQLite file. Others read and write meanwhile."""


class Secrets(Protocol):
    """Sealed values by workspace and name; what is in them is not the store's to know."""

    def put(self, workspace: str, sealed: Mapping[str, bytes], *, user: str, at: float) -> None:
        """Adds or replaces; the time of the first setting stays."""

    def get(self, workspace: str, names: Sequence[str]) -> Mapping[str, bytes]:
        """Those of these names that are there."""

    def list(self, workspace: str) -> Sequence[Secret]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """Whether it was there."""

    def any_sealed(self) -> bool:
        """Whether any workspace has one."""


class Datastores(Protocol):
    """Registered ones by (workspace, name), each with its sealed credential; those that every workspace has are not kept here."""

    def put(self, datastore: Datastore, sealed: bytes | None, *, overwrite: bool) -> Datastore:
        """Conflict when there is one of that name and it is not to be replaced."""

    def get(self, workspace: str, name: str) -> Datastore: ...
    def sealed(self, workspace: str, name: str) -> bytes | None:
        """Its credential; None when it has none, or is not there."""

    def list(self, workspace: str) -> Sequence[Datastore]:
        """By name."""

    def delete(self, workspace: str, name: str) -> bool:
        """Whether it was there. The workspace's default is then the first one again."""

    def default(self, workspace: str) -> str:
        """The name of the default one; empty when nobody chose."""

    def set_default(self, workspace: str, name: str) -> None: ...
    def any_sealed(self) -> bool:
        """Whether any workspace has one with a credential."""


class Datasets(Protocol):
    """Registered ones by (workspace, name, version), and lineage: which run read or wrote which data."""

    def register(self, dataset: Dataset, *, new_version: bool) -> tuple[Dataset, bool]:
        """With the version that it has, and whether that is new. The newest version's definition again is that version, with
        these tags added, and this description if there is one. Another definition: Conflict unless it is to be a new version."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Dataset:
        """The newest version when none is named."""

    def by_id(self, workspace: str, dataset_id: str) -> Dataset: ...
    def list(self, workspace: str, name: str | None = None) -> Sequence[Dataset]:
        """The newest version of each by name; of one name all versions, newest first."""

    def annotate(
        self,
        workspace: str,
        dataset_id: str,
        *,
        tags: Mapping[str, str] | None = None,
        remove_tags: Sequence[str] = (),
        description: str | None = None,
    ) -> Dataset: ...
    def delete(self, workspace: str, name: str) -> int:
        """All versions; how many there were. What runs read stays with them."""

    def note(self, uses: Sequence[DataUse]) -> None:
        """Keeps these; one of the same run, direction and name is replaced. NotFound when there is no such run."""

    def uses_of_run(self, run_id: str) -> Sequence[DataUse]:
        """Inputs first, each direction by time."""

    def uses_of_dataset(self, dataset_id: str, limit: int) -> Sequence[DataUse]:
        """Newest run first."""


class Models(Protocol):
    """Registered versions by (workspace, name, version), and which run asked for which."""

    def register(self, model: Model, key: str) -> tuple[Model, bool]:
        """With the version that it gets, one more than the last that was ever given under its name, and whether it is new: the
        same key again is the same version. Of two at once, each gets its own."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Model:
        """The newest version that is there when none is named."""

    def list(
        self,
        workspace: str,
        *,
        name: str | None = None,
        run_id: str | None = None,
        framework: str | None = None,
        latest: bool = False,
    ) -> Sequence[Model]:
        """Newest first; with `latest` only the newest version of each name."""

    def change(self, workspace: str, name: str, version: int, decide: Callable[[Model], Model]) -> Model:
        """As `decide` makes it of the one that is there; what that raises changes nothing."""

    def delete(self, workspace: str, name: str, version: int) -> bool:
        """Whether it was there."""

    def note_use(self, run_id: str, model_id: str, at: float) -> None:
        """The run asked for that model. Safe twice."""

    def used_by_run(self, run_id: str) -> Sequence[str]:
        """Ids of models, in the order in which it asked for them."""

    def users(self, workspace: str, model_id: str, limit: int) -> Sequence[str]:
        """Ids of the runs that asked for it, newest first."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """An endpoint with all that its loop has to know."""

    endpoint: Endpoint
    good: EndpointSpec | None
    """What it was when it last stood as it should: what serves while a change is under way. None for one that never did."""
    generations: int
    """The last that was given to a version."""
    asked: int
    """Counts what people asked for: whoever worked on something older has worked in vain."""
    deleting: bool
    sealed: bytes
    """Its keys."""


@dataclass(frozen=True, kw_only=True)
class EndpointLease:
    """As `Lease`, of an endpoint."""

    standing: Standing
    token: str


class Endpoints(Protocol):
    """By (workspace, name). One that is being deleted is there for its loop alone; its name and port are taken until then."""

    def create(self, endpoint: Endpoint, sealed: bytes, *, generations: int) -> Endpoint:
        """EndpointConflict when there is one of that name, or with that port."""

    def get(self, workspace: str, name: str) -> Endpoint: ...
    def standing(self, workspace: str, name: str) -> Standing:
        """Also of one that is being deleted."""

    def list(self, workspace: str | None = None) -> Sequence[Endpoint]:
        """By name; of all workspaces when none is given."""

    def ports(self) -> frozenset[int]:
        """Those that are taken."""

    def using(self, workspace: str, model_id: str) -> Sequence[str]:
        """Names of the endpoints that have the model, in what they should be or in what serves; those being deleted too."""

    def ask(self, workspace: str, name: str, spec: EndpointSpec, *, seen: int, generations: int, at: float) -> Endpoint:
        """It should be like this from now on. EndpointConflict when somebody asked for something since `seen`."""

    def annotate(self, workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        """Other keys, made from those that there are; nobody else changes them meanwhile."""

    def retire(self, workspace: str, name: str, *, at: float) -> None:
        """It is to be deleted."""

    def touch(self, workspace: str, name: str) -> None:
        """Makes it due at once."""

    def lease(self, *, at: float, seconds: float, limit: int) -> Sequence[EndpointLease]: ...
    def renew(self, lease: EndpointLease, *, until: float) -> bool: ...
    def release(self, lease: EndpointLease, *, due_at: float) -> None:
        """As of runs; one that became due while it was held is due at once."""

    def inherit(self) -> None:
        """Ends every lease; all are due at once."""

    def settle(self, lease: EndpointLease, after: Standing) -> bool:
        """Writes what came of the work: spec, good, state, error, port. False, and nothing is changed, when the lease was lost or
        somebody asked for something else meanwhile."""

    def remove(self, lease: EndpointLease) -> bool:
        """One that is being deleted is gone, and its replicas' rows with it; the runs stay."""

    def replicas(self, workspace: str, name: str) -> Sequence[Replica]:
        """Oldest first; those that have ended too, until they are forgotten."""

    def add_replica(self, workspace: str, name: str, replica: Replica) -> None: ...
    def dismiss(self, run_ids: Sequence[str]) -> None:
        """They are leaving."""

    def forget(self, run_ids: Sequence[str]) -> None: ...
    def any_sealed(self) -> bool:
        """Whether there is any."""


class Store(Protocol):
    """All of it. `close` waits for what is being written."""

    @property
    def workspaces(self) -> Workspaces: ...
    @property
    def experiments(self) -> Experiments: ...
    @property
    def computes(self) -> Computes: ...
    @property
    def gangs(self) -> Gangs: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def metrics(self) -> Metrics: ...
    @property
    def streams(self) -> Streams: ...
    @property
    def files(self) -> Files: ...
    @property
    def environments(self) -> Environments: ...
    @property
    def people(self) -> People: ...
    @property
    def secrets(self) -> Secrets: ...
    @property
    def datastores(self) -> Datastores: ...
    @property
    def datasets(self) -> Datasets: ...
    @property
    def models(self) -> Models: ...
    @property
    def endpoints(self) -> Endpoints: ...
    @property
    def upkeep(self) -> Upkeep: ...
    def close(self) -> None: ...
