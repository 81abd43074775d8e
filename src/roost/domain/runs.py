"""A run: what was asked for (RunSpec), what exists (Run), and the one door through which its status changes (`advance`).

Times are seconds since the epoch, UTC. A status says where a run stands, a reason why; each move leaves a RunEvent, and
the list of those is the answer to "why is it waiting?" and "what happened?".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from roost.domain.containers import DockerUse
from roost.domain.datasets import Input, Output
from roost.domain.endpoints import Serving
from roost.domain.environments import EnvironmentUse
from roost.domain.errors import Conflict
from roost.domain.topology import Topology


class RunStatus(StrEnum):
    """The statuses of the Azure ML SDK v1, spelled as scripts compare them."""

    NOT_STARTED = "NotStarted"
    STARTING = "Starting"
    PREPARING = "Preparing"
    QUEUED = "Queued"
    PROVISIONING = "Provisioning"
    RUNNING = "Running"
    FINALIZING = "Finalizing"
    CANCEL_REQUESTED = "CancelRequested"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"
    NOT_RESPONDING = "NotResponding"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL

    @property
    def holds_node(self) -> bool:
        """An agent has been started for it, or may have been, and it has not ended."""
        return self in HOLDS_NODE


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED})
HOLDS_NODE = frozenset(
    {
        RunStatus.PROVISIONING,
        RunStatus.RUNNING,
        RunStatus.FINALIZING,
        RunStatus.CANCEL_REQUESTED,
        RunStatus.NOT_RESPONDING,
    }
)


class Reason(StrEnum):
    """Why a run stands where it stands."""

    NONE = ""
    SUBMITTED = "submitted"
    WAITING_FOR_ENVIRONMENT = "waiting_for_environment"
    WAITING_FOR_BUILD = "waiting_for_build"
    """Its environment is built for another run, or as many environments are built as may be at once."""
    BUILDING_ENVIRONMENT = "building_environment"
    BUILD_LOST = "build_lost"
    ENVIRONMENT_FAILED = "environment_failed"
    WAITING_FOR_NODE = "waiting_for_node"
    WAITING_IN_QUEUE = "waiting_in_queue"
    """The queue of its engine holds its agent back; the message has the queue's words."""
    NODE_GIVEN = "node_given"
    AGENT_STARTED = "agent_started"
    SCRIPT_STARTED = "script_started"
    SCRIPT_ENDED = "script_ended"
    LOGGING = "logging"
    DONE = "done"
    EXIT_CODE = "exit_code"
    PREPARE_FAILED = "prepare_failed"
    START_FAILED = "start_failed"
    TIMED_OUT = "timed_out"
    CANCELED_BY_USER = "canceled_by_user"
    MARKED_FAILED = "marked_failed"
    MARKED_COMPLETED = "marked_completed"
    """A person ended it with `run.complete()`, from outside."""
    AGENT_LOST = "agent_lost"
    CLIENT_LOST = "client_lost"
    UPLOAD_FAILED = "upload_failed"
    FOLDER_GONE = "folder_gone"
    """Its folder on the node was deleted while it ran."""
    SILENT = "silent"
    PARENT_ENDED = "parent_ended"
    NODE_FAILED = "node_failed"
    """One of its nodes failed: the others are ended."""
    NODES_DONE = "nodes_done"
    """Those of its nodes that it waits for are done: the others are ended."""
    PREEMPTED = "preempted"
    """A node of low priority was taken away: it begins again on others."""


ENDINGS = frozenset({Reason.NODE_FAILED, Reason.NODES_DONE, Reason.PREEMPTED})
"""Why agents are told to end a run that nobody has cancelled."""


MARKS: Mapping[Reason, RunStatus] = {
    Reason.MARKED_FAILED: RunStatus.FAILED,
    Reason.MARKED_COMPLETED: RunStatus.COMPLETED,
}
"""Ends that a person asks for from outside, and the status that the run then gets, however its processes end."""


class RunKind(StrEnum):
    """Where the run's process comes from."""

    SCRIPT = "script"
    """Submitted: an engine starts an agent, the agent starts the script."""
    INTERACTIVE = "interactive"
    """`start_logging`: the run lives in the caller's own process."""
    REPLICA = "replica"
    """Of an endpoint: as a submitted one, but it takes no place of its target, and goes on until it is cancelled."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What was asked for; it never changes once submitted."""

    kind: RunKind = RunKind.SCRIPT
    snapshot: str = ""
    """Blob hash of the manifest of the source folder; empty for none."""
    script: str = ""
    """Path within the snapshot; empty when `command` is given."""
    command: tuple[str, ...] = ()
    """The program and its arguments, instead of a script."""
    shell: bool = False
    """Whether `command` is one text, which the node's shell takes apart."""
    arguments: tuple[str, ...] = ()
    target: str = "local"
    interpreter: str = ""
    """Absolute path of the Python that runs the script; with no environment, the one that submitted."""
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float | None = None
    """Counted from the start of the script on the node's own clock."""
    node_count: int = 1
    """It gets all of them at once, or waits."""
    launch: str = "single"
    """A key of `roost.launch.LAUNCHES`."""
    topology: Topology = field(default_factory=Topology)
    """Which processes it has on its nodes."""
    priority: int = 0
    """Of those who wait for a cluster, the highest is next."""
    environment: EnvironmentUse | None = None
    """None for the interpreter as it is; else what its definition asks for is installed first."""
    docker: DockerUse | None = None
    """How the run's container is set up; None as the environment says."""
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    serving: Serving | None = None
    """Of a replica: what it serves."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A run as the caller sends it. Sent twice, it is the same run."""

    id: str
    experiment: str
    spec: RunSpec
    display_name: str = ""
    description: str = ""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    parent_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What exists."""

    id: str
    workspace: str
    experiment: str
    number: int
    """Counts from 1 within its experiment."""
    spec: RunSpec
    user: str
    created_at: float
    status: RunStatus = RunStatus.NOT_STARTED
    reason: Reason = Reason.SUBMITTED
    message: str = ""
    """Words for people, with values: the last error lines, the node, what it waits for."""
    display_name: str = ""
    description: str = ""
    """What its people say of it; they may change it at any time."""
    parent_id: str | None = None
    started_at: float | None = None
    """When the script (or the interactive run) began."""
    ended_at: float | None = None
    exit_code: int | None = None
    """Of the script; negative for a signal, as subprocess has it."""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    given_tags: Mapping[str, str | None] = field(default_factory=dict)
    """Those it was submitted with, whatever became of them: what a repetition has too."""
    properties: Mapping[str, str] = field(default_factory=dict)
    revision: int = 1
    """Grows with every change; long polls wait for it to pass a value."""
    handle: str = ""
    """The engine's own word for the agents of this run; opaque."""
    heard_at: float | None = None
    """When an agent or client last spoke."""
    attempt: int = 1
    """Counts up when it begins again after its nodes were taken away."""
    ending: Reason = Reason.NONE
    """One of ENDINGS from the moment when its agents are to end it; they hear of it as of a cancel. One of MARKS when a person
    has said how it is to end."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """Something that happened to a run. `to` is the status it leads to, if that move is allowed."""

    to: RunStatus
    at: float
    reason: Reason = Reason.NONE
    message: str = ""
    exit_code: int | None = None
    handle: str = ""


_S = RunStatus
_END = {_S.COMPLETED, _S.FAILED, _S.CANCELED}

MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    _S.NOT_STARTED: frozenset({_S.STARTING, _S.PREPARING, _S.QUEUED, _S.RUNNING, *_END}),
    _S.STARTING: frozenset({_S.PREPARING, _S.QUEUED, _S.RUNNING, *_END}),
    _S.PREPARING: frozenset({_S.QUEUED, _S.CANCEL_REQUESTED, *_END}),
    _S.QUEUED: frozenset({_S.PROVISIONING, *_END}),
    _S.PROVISIONING: frozenset({_S.QUEUED, _S.RUNNING, _S.CANCEL_REQUESTED, _S.FINALIZING, *_END}),
    _S.RUNNING: frozenset({_S.QUEUED, _S.FINALIZING, _S.CANCEL_REQUESTED, _S.NOT_RESPONDING, *_END}),
    _S.FINALIZING: frozenset({_S.QUEUED, _S.CANCEL_REQUESTED, _S.NOT_RESPONDING, *_END}),
    _S.NOT_RESPONDING: frozenset({_S.QUEUED, _S.RUNNING, _S.FINALIZING, _S.CANCEL_REQUESTED, *_END}),
    _S.CANCEL_REQUESTED: frozenset({*_END}),
    _S.COMPLETED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELED: frozenset(),
}


MAX_ATTEMPTS = 10
"""So often is a run begun that loses its nodes of low priority."""


def lost_its_nodes(run: Run, to: RunStatus) -> bool:
    """Whether an end is due to nodes that were taken away, and to nothing that the run or a person did."""
    going = not run.status.is_terminal and run.status is not RunStatus.CANCEL_REQUESTED
    return going and run.ending is Reason.PREEMPTED and to in (RunStatus.FAILED, RunStatus.CANCELED)


def resumed(run: Run, event: RunEvent) -> RunEvent:
    """What becomes of an event: a run that fails because its nodes were taken away waits again instead, up to a limit."""
    if not lost_its_nodes(run, event.to):
        return event
    if run.attempt >= MAX_ATTEMPTS:
        words = f"Its nodes were taken away {run.attempt} times; it is not started again."
        return replace(event, to=RunStatus.FAILED, reason=Reason.PREEMPTED, message=words)
    words = f"Attempt {run.attempt} lost its nodes; the run waits for others and continues with the outputs that were saved."
    return RunEvent(to=RunStatus.QUEUED, at=event.at, reason=Reason.PREEMPTED, message=words)


_ASKED = frozenset({Reason.CANCELED_BY_USER, *MARKS})


def marked(run: Run, event: RunEvent) -> RunEvent:
    """What becomes of the end of a run that a person has marked: the status and the words are the person's. What its agent could
    not keep is said below them."""
    if run.ending not in MARKS or not event.to.is_terminal or run.status.is_terminal:
        return event
    more = event.message if event.to is RunStatus.CANCELED else ""
    to = MARKS[run.ending]
    code = event.exit_code if to is RunStatus.FAILED else None
    return replace(
        event, to=to, reason=run.ending, message="\n".join(filter(None, (run.message, more))), exit_code=code
    )


def advance(run: Run, event: RunEvent) -> Run:
    """The run after the event. The same run, unchanged, when the event says nothing new; Conflict when it is not allowed.

    Said twice is said once: an end that is reported again, or another end after the first one, changes nothing.
    An agent that reports progress (Running, Finalizing) while a cancel is on its way does not undo the cancel.
    Of several requests to end it the first counts. A run whose nodes were taken away waits again, with the next attempt; why
    agents have to end it stays until then.
    """
    if run.status.is_terminal:
        if event.to.is_terminal:
            return run
        raise Conflict(f"Run {run.id} has ended ({run.status.value}) and cannot become {event.to.value}.")
    if event.to is run.status and event.message == run.message and event.reason is run.reason:
        known = event.handle in ("", run.handle)
        return run if known else replace(run, handle=event.handle, revision=run.revision + 1)
    if run.status is RunStatus.CANCEL_REQUESTED and event.to is not run.status and not event.to.is_terminal:
        return run
    if run.status is RunStatus.CANCEL_REQUESTED and event.to is run.status and event.reason in _ASKED:
        return run
    if event.to is not run.status and event.to not in MOVES[run.status]:
        raise Conflict(f"Run {run.id} is {run.status.value} and cannot become {event.to.value}.")
    waits_again = event.to is RunStatus.QUEUED
    asked = event.reason in MARKS and event.to is RunStatus.CANCEL_REQUESTED
    keeps_words = run.ending in MARKS and event.to is RunStatus.CANCEL_REQUESTED
    return replace(
        run,
        status=event.to,
        reason=event.reason,
        message=run.message if keeps_words else event.message,
        started_at=event.at if event.to is RunStatus.RUNNING and run.started_at is None else run.started_at,
        ended_at=event.at if event.to.is_terminal else run.ended_at,
        exit_code=event.exit_code if event.exit_code is not None else run.exit_code,
        # A run that waits for a node has no agent: the one that built its environment is done.
        handle=event.handle or ("" if waits_again else run.handle),
        attempt=run.attempt + 1 if waits_again and event.reason is Reason.PREEMPTED else run.attempt,
        ending=Reason.NONE if waits_again else event.reason if event.reason in ENDINGS or asked else run.ending,
        revision=run.revision + 1,
    )
