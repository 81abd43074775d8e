"""A run: the request (RunSpec), the existing run (Run), and the only function that changes its status (`advance`).

Times are seconds since the epoch, UTC. A run has a status, and a reason for it. Each change adds a RunEvent; the list of events
answers "why is it waiting?" and "what happened?".
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
        """True when an agent was started for it, or may have been, and it has not ended."""
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
    """Why a run has its status."""

    NONE = ""
    SUBMITTED = "submitted"
    WAITING_FOR_ENVIRONMENT = "waiting_for_environment"
    WAITING_FOR_BUILD = "waiting_for_build"
    """Its environment is being built for another run, or the limit of parallel builds is reached."""
    BUILDING_ENVIRONMENT = "building_environment"
    BUILD_LOST = "build_lost"
    ENVIRONMENT_FAILED = "environment_failed"
    WAITING_FOR_NODE = "waiting_for_node"
    WAITING_IN_QUEUE = "waiting_in_queue"
    """Its agent waits in the queue of its engine; the message has the queue's text."""
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
    """The nodes that the run waits for are done: the others are ended."""
    PREEMPTED = "preempted"
    """A low-priority node was taken away: the run starts again on other nodes."""


ENDINGS = frozenset({Reason.NODE_FAILED, Reason.NODES_DONE, Reason.PREEMPTED})
"""Why agents must end a run that no person has cancelled."""


MARKS: Mapping[Reason, RunStatus] = {
    Reason.MARKED_FAILED: RunStatus.FAILED,
    Reason.MARKED_COMPLETED: RunStatus.COMPLETED,
}
"""Ends that a person requests from outside, and the status that the run then gets, regardless of how its processes end."""


class RunKind(StrEnum):
    """How the run's process starts."""

    SCRIPT = "script"
    """Submitted: an engine starts an agent, the agent starts the script."""
    INTERACTIVE = "interactive"
    """`start_logging`: the run lives in the caller's own process."""
    REPLICA = "replica"
    """Of an endpoint: like a submitted run, but it takes no place of its target and continues until it is cancelled."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The request; it never changes after submission."""

    kind: RunKind = RunKind.SCRIPT
    snapshot: str = ""
    """Blob hash of the manifest of the source folder; empty for none."""
    script: str = ""
    """Path within the snapshot; empty when `command` is given."""
    command: tuple[str, ...] = ()
    """The program and its arguments, instead of a script."""
    shell: bool = False
    """True when `command` is one text, which the node's shell splits."""
    arguments: tuple[str, ...] = ()
    target: str = "local"
    interpreter: str = ""
    """Absolute path of the Python that runs the script; without an environment, the Python that submitted the run."""
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float | None = None
    """Counted from the start of the script on the node's own clock."""
    node_count: int = 1
    """The run gets all of them at once, or waits."""
    launch: str = "single"
    """A key of `roost.launch.LAUNCHES`."""
    topology: Topology = field(default_factory=Topology)
    """The processes on its nodes."""
    priority: int = 0
    """Of the runs that wait for a cluster, the highest is next."""
    environment: EnvironmentUse | None = None
    """None for the interpreter as it is; else its definition is installed first."""
    docker: DockerUse | None = None
    """The settings of the run's container; None for the environment's."""
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    serving: Serving | None = None
    """The model and its settings, for a replica."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A run as the caller sends it. A repeated submission is the same run."""

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
    """An existing run."""

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
    """Text for people, with values: the last error lines, the node, what it waits for."""
    display_name: str = ""
    description: str = ""
    """The description by its people; they can change it at any time."""
    parent_id: str | None = None
    started_at: float | None = None
    """Time when the script (or the interactive run) started."""
    ended_at: float | None = None
    exit_code: int | None = None
    """The script's exit code; negative for a signal, as in subprocess."""
    tags: Mapping[str, str | None] = field(default_factory=dict)
    given_tags: Mapping[str, str | None] = field(default_factory=dict)
    """The tags at its submission, regardless of later changes: a repetition gets the same."""
    properties: Mapping[str, str] = field(default_factory=dict)
    revision: int = 1
    """Increases with every change; long polls wait until it passes a value."""
    handle: str = ""
    """The engine's handle for the agents of this run; opaque."""
    heard_at: float | None = None
    """Time of the last report from an agent or client."""
    attempt: int = 1
    """Increases when it starts again after its nodes were taken away."""
    ending: Reason = Reason.NONE
    """One of ENDINGS once its agents must end it; they receive it like a cancel. One of MARKS once a person has set how it
    ends."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """An event of a run. `to` is the status that it leads to, if that change is allowed."""

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
"""The number of times that a run starts when it loses its low-priority nodes."""


def lost_its_nodes(run: Run, to: RunStatus) -> bool:
    """True when an end is caused by nodes that were taken away, and by nothing that the run or a person did."""
    going = not run.status.is_terminal and run.status is not RunStatus.CANCEL_REQUESTED
    return going and run.ending is Reason.PREEMPTED and to in (RunStatus.FAILED, RunStatus.CANCELED)


def resumed(run: Run, event: RunEvent) -> RunEvent:
    """The event, replaced when its nodes were taken away: then the run waits again instead of failing, up to a limit."""
    if not lost_its_nodes(run, event.to):
        return event
    if run.attempt >= MAX_ATTEMPTS:
        words = f"Its nodes were taken away {run.attempt} times; it is not started again."
        return replace(event, to=RunStatus.FAILED, reason=Reason.PREEMPTED, message=words)
    words = f"Attempt {run.attempt} lost its nodes; the run waits for others and continues with the outputs that were saved."
    return RunEvent(to=RunStatus.QUEUED, at=event.at, reason=Reason.PREEMPTED, message=words)


_ASKED = frozenset({Reason.CANCELED_BY_USER, *MARKS})


def marked(run: Run, event: RunEvent) -> RunEvent:
    """The event, replaced when it ends a run that a person has marked: status and message are the person's. The agent's report of
    data that it could not save follows below."""
    if run.ending not in MARKS or not event.to.is_terminal or run.status.is_terminal:
        return event
    more = event.message if event.to is RunStatus.CANCELED else ""
    to = MARKS[run.ending]
    code = event.exit_code if to is RunStatus.FAILED else None
    return replace(
        event, to=to, reason=run.ending, message="\n".join(filter(None, (run.message, more))), exit_code=code
    )


def advance(run: Run, event: RunEvent) -> Run:
    """The run after the event. The same run, unchanged, when the event adds nothing new; Conflict when it is not allowed.

    Repetition is safe: an end that is reported again, or another end after the first one, changes nothing. An agent that reports
    progress (Running, Finalizing) during a cancel does not undo the cancel. Of several requests to end a run, the first counts. A
    run whose nodes were taken away waits again, with the next attempt; until then it keeps the reason why agents must end it.
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
