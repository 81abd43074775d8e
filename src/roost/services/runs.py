"""Runs: submitted, listed, annotated, cancelled, reported on. `move` changes a run's status; `control/compute.py` alone gives
nodes without it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from roost.domain import names
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import MARKS, Reason, Run, RunEvent, RunKind, RunStatus, Submission
from roost.services import compute, datasets, experiments, lineage, people, rank_logs, reserve, submissions, upkeep
from roost.services.context import Context
from roost.services.signals import CONTROL, run_topic
from roost.store.base import RUNS, Lease, Order, RunColumns, RunQuery

MAX_MESSAGE = 20_000
MAX_LISTED = 10_000

REPORTED = frozenset(
    {
        RunStatus.STARTING,
        RunStatus.PREPARING,
        RunStatus.RUNNING,
        RunStatus.FINALIZING,
        RunStatus.COMPLETED,
        RunStatus.FAILED,
        RunStatus.CANCELED,
    }
)
"""The statuses that an agent or client may report; the control plane decides about the others."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report of an agent or client about its run."""

    to: RunStatus
    reason: Reason = Reason.NONE
    message: str = ""
    exit_code: int | None = None
    attempt: int = 0
    """The attempt of the agent that reports; 0 for senders without attempts. A report of another attempt is ignored."""
    at: float | None = None
    """When it happened, by the sender's clock; None for now."""


Said = TypeVar("Said", bound=Report)


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Changes to a run's labels; a field that is left out changes nothing."""

    tags: Mapping[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    display_name: str | None = None
    description: str | None = None


def submit(context: Context, caller: Caller, workspace: str, submission: Submission) -> tuple[Run, bool]:
    """Returns the run and True when it is new. A submission that is sent twice makes one run."""
    caller.require(Action.RUN_SUBMIT)
    return add(context, caller, workspace, submission)


def add(context: Context, caller: Caller, workspace: str, submission: Submission) -> tuple[Run, bool]:
    """The work of `submit`, for runs and for children: the deed that calls it checks the permission."""
    submissions.check(context, workspace, submission)
    datasets.check_run(context, caller, workspace, submission.spec)
    if submission.parent_id is None and not _is_known(context, submission.id):  # a child's parent was admitted already
        upkeep.require_room(context)
    experiments.active(context, caller, workspace, submission.experiment)
    run, new = context.store.runs.create(workspace, submission, user=caller.user, at=context.clock())
    datasets.note_submitted(context, run)
    if new:
        context.signals.notify(CONTROL, run_topic(run.id))
    return run, new


def _is_known(context: Context, run_id: str) -> bool:
    try:
        return bool(find(context, run_id).id)
    except NotFound:
        return False


def get(context: Context, caller: Caller, run_id: str) -> Run:
    caller.require(Action.RUN_READ)
    return find(context, run_id)


def find(context: Context, run_id: str) -> Run:
    """For other deeds and the control loops, which check permission themselves."""
    return context.store.runs.get(names.run_id(run_id))


def listing(context: Context, caller: Caller, query: RunQuery, order: Order | None = None) -> Sequence[Run]:
    """Newest first, or in the given order."""
    caller.require(Action.RUN_LIST)
    _check(context, query)
    return context.store.runs.list(query) if order is None else context.store.runs.ranked(query, order)


def texts(context: Context, caller: Caller, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
    """Like `listing`: the JSON text of each run, by id."""
    caller.require(Action.RUN_LIST)
    _check(context, query)
    return context.store.runs.texts(query, order)


def _check(context: Context, query: RunQuery) -> None:
    context.store.workspaces.get(names.workspace(query.workspace))
    if not 1 <= query.limit <= MAX_LISTED:
        raise InvalidInput(f"limit must be 1 to {MAX_LISTED}, got {query.limit}.", hint="Page on with `before`.")
    if query.before is not None:
        find(context, query.before)


def columns(context: Context, caller: Caller, query: RunQuery) -> RunColumns:
    """The arguments, metrics and tags that the runs of a selection have."""
    caller.require(Action.RUN_LIST)
    context.store.workspaces.get(names.workspace(query.workspace))
    return context.store.runs.columns(query)


def active(context: Context, caller: Caller) -> int:
    """The number of runs that hold a node."""
    caller.require(Action.SERVER_READ)
    return context.store.runs.active()


def events(context: Context, caller: Caller, run_id: str) -> Sequence[RunEvent]:
    caller.require(Action.RUN_READ)
    find(context, run_id)
    return context.store.runs.events(run_id)


def annotate(context: Context, caller: Caller, run_id: str, changes: Changes) -> Run:
    caller.require(Action.RUN_ANNOTATE)
    find(context, run_id)
    submissions.check_labels(changes.tags, changes.properties, changes.display_name, changes.description)
    run = context.store.runs.annotate(
        run_id,
        tags=changes.tags or None,
        remove_tags=changes.remove_tags,
        properties=changes.properties or None,
        display_name=changes.display_name,
        description=changes.description,
    )
    context.signals.notify(run_topic(run_id))
    return run


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The end that a person requests for a run."""

    to: RunStatus
    """Completed or Failed; to cancel is another deed."""
    message: str = ""
    """Why, in the person's words."""


def mark(context: Context, caller: Caller, run_id: str, wanted: Mark) -> Run:
    """Ends a run from outside, with the status that the caller wants. A run with an agent is asked to end, as by a cancel, and
    gets that status when its processes have ended; any other run ends at once. A run that has ended does not change."""
    caller.require(Action.RUN_MARK)
    run = find(context, run_id)
    reason = next((reason for reason, to in MARKS.items() if to is wanted.to), None)
    if reason is None:
        choices = ", ".join(sorted(status.value for status in MARKS.values()))
        raise InvalidInput(f"A run cannot be marked as {wanted.to.value}.", hint=f"It can be marked as: {choices}.")
    message = wanted.message or f"It was marked as {wanted.to.value} by {caller.user}."
    return run if run.status.is_terminal else _ask_to_end(context, run, wanted.to, reason, _bounded(message))


def cancel(context: Context, caller: Caller, run_id: str) -> Run:
    """Asks a run with an agent to end; any other run ends at once. The same for every submitted run below it; the other children
    live in its process and end with it. A run that has ended does not change."""
    caller.require(Action.RUN_CANCEL)
    run = find(context, run_id)
    if run.status.is_terminal:
        return run
    run = _cancel(context, caller, run)
    for each in lineage.below(context, run):
        if each.spec.kind is not RunKind.INTERACTIVE and not each.status.is_terminal:
            _cancel(context, caller, each)
    return run


def _cancel(context: Context, caller: Caller, run: Run) -> Run:
    return _ask_to_end(context, run, RunStatus.CANCELED, Reason.CANCELED_BY_USER, f"It was canceled by {caller.user}.")


def _ask_to_end(context: Context, run: Run, end: RunStatus, reason: Reason, message: str) -> Run:
    asks_agent = (run.status.holds_node and run.spec.kind is not RunKind.INTERACTIVE) or _builds_in_queue(context, run)
    to = RunStatus.CANCEL_REQUESTED if asks_agent else end
    # A run that is claimed after it was read above is stopped by `control/runs` once its agent has a handle.
    try:
        run, _ = move(context, run.id, to, reason, message)
    except Conflict:  # it ended after it was read: nothing is left to do
        run = find(context, run.id)
        if not run.status.is_terminal:
            raise
    context.store.leases.touch(RUNS, run.id)
    return run


def _builds_in_queue(context: Context, run: Run) -> bool:
    """True when its build agent may wait in an engine's queue, where no message reaches it: the control loop removes it."""
    if run.status is not RunStatus.PREPARING or not run.handle:
        return False
    engine = context.engines.get(context.store.computes.get(run.workspace, run.spec.target).engine)
    return engine is not None and engine.queues


def delete(context: Context, caller: Caller, run_id: str) -> Sequence[str]:
    """Deletes a run that has ended and those below it; returns their ids, none when there was no such run. The next sweep frees
    the blobs that only they refer to."""
    caller.require(Action.RUN_DELETE)
    gone = reserve.spend(context.reserve, lambda: context.store.runs.delete(names.run_id(run_id)))
    context.signals.notify(*(run_topic(each) for each in gone))
    return gone


WAITED_SECONDS = 3.0
"""A report whose clock is at most this far behind was only delayed, as while a control plane starts: the clocks agree."""


def happened(context: Context, run: Run, said: Report, clock: float | None) -> float:
    """The time of a reported event, by the control plane's clock. `clock` is the sender's clock when it sent the report: the
    difference of the clocks is added, unless the report was only delayed (`WAITED_SECONDS`). Never later than now, nor before the
    run began."""
    now = context.clock()
    if said.at is None or not math.isfinite(said.at):
        return now
    behind = now - clock if clock is not None and math.isfinite(clock) else 0.0
    at = said.at if 0 <= behind <= WAITED_SECONDS else said.at + behind
    return max(min(now, at), run.started_at or run.created_at)


def report(context: Context, caller: Caller, run_id: str, said: Report, clock: float | None = None) -> Run:
    """Takes in the report of an agent or client about its run, perhaps long after the event."""
    caller.require(Action.RUN_REPORT)
    before = find(context, run_id)
    if said.to not in REPORTED:
        raise Conflict(
            f"{said.to.value} is the control plane's to decide, it cannot be reported.",
            hint=f"What can be reported: {', '.join(sorted(status.value for status in REPORTED))}.",
        )
    said = bounded(said)
    if said.attempt and said.attempt != before.attempt:
        return before
    at = happened(context, before, said, clock)
    run, _ = move(
        context, run_id, said.to, said.reason, said.message, exit_code=said.exit_code, attempt=said.attempt, at=at
    )
    return run


def bounded(said: Said) -> Said:
    """The report with its message cut to what the store accepts; InvalidInput for an exit code of more than 32 bits."""
    if said.exit_code is not None and not -(2**31) <= said.exit_code < 2**31:
        raise InvalidInput(f"An exit code has 32 bits, got {said.exit_code}.")
    return replace(said, message=_bounded(said.message))


def _bounded(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else "…" + message[-MAX_MESSAGE:]


def heartbeat(context: Context, caller: Caller, run_id: str) -> Run:
    """Notes that an agent or client is alive. A run that was NotResponding returns to its earlier status."""
    caller.require(Action.RUN_REPORT)
    run = context.store.runs.heard(names.run_id(run_id), context.clock())
    if run.status is not RunStatus.NOT_RESPONDING:
        return run
    before = [event for event in context.store.runs.events(run_id) if event.to is not RunStatus.NOT_RESPONDING]
    back = before[-1].to if before and before[-1].to in (RunStatus.RUNNING, RunStatus.FINALIZING) else RunStatus.RUNNING
    run, _ = move(context, run_id, back, before[-1].reason if before else Reason.NONE, "Its agent reports again.")
    return run


def missed(context: Context, run: Run) -> None:
    """The connection of its agent broke: makes the control loop check the run now instead of later."""
    if not run.status.is_terminal:
        context.store.leases.touch(RUNS, run.id)
        context.signals.notify(CONTROL)


def move(
    context: Context,
    run_id: str,
    to: RunStatus,
    reason: Reason,
    message: str,
    *,
    exit_code: int | None = None,
    handle: str = "",
    lease: Lease | None = None,
    attempt: int = 0,
    at: float | None = None,
) -> tuple[Run, bool]:
    """Changes a run's status through the store's `apply`, then wakes everything that waits for the run. `at` is the time of the
    event."""
    when = context.clock() if at is None else at
    event = RunEvent(to=to, at=when, reason=reason, message=message, exit_code=exit_code, handle=handle)
    run, moved = context.store.runs.apply(run_id, event, lease=lease, attempt=attempt)
    if moved:
        if run.status.is_terminal:
            rank_logs.seal(context, run_id)  # nobody else seals a log that was merged here
            people.expire_run_tokens(context, run_id)
            end_children(context, run)
        elif run.status is RunStatus.QUEUED and run.attempt > 1:
            rank_logs.put_aside(context, run)
        context.signals.notify(run_topic(run_id), CONTROL)
    return run, moved


def end_children(context: Context, run: Run) -> None:
    """Ends the children that lived in the process of a run that has ended: they get its status, and one that never began is
    Canceled. Submitted children have their own processes and continue."""
    for child in lineage.children(context, run):
        if child.spec.kind is RunKind.INTERACTIVE and not child.status.is_terminal:
            began = child.status is not RunStatus.NOT_STARTED
            words = f"It ended with its parent, run {run.id}." if began else "It had not begun when its parent ended."
            move(context, child.id, run.status if began else RunStatus.CANCELED, Reason.PARENT_ENDED, words)


def why(context: Context, run: Run) -> str:
    """A sentence for people: what the run waits for, or how it ended."""
    target = run.spec.target
    if run.status.is_terminal:
        return f"It has ended: {run.status.value}." + (f" {run.message}" if run.message else "")
    if run.status is RunStatus.QUEUED:
        return compute.why_queued(context, run)
    if run.reason is Reason.WAITING_IN_QUEUE:
        return run.message
    if run.status is RunStatus.PROVISIONING and run.handle and run.spec.inputs:
        return f"Its node of {target} is fetching its inputs; its log shows how far it is."
    if run.status is RunStatus.PROVISIONING:
        several = run.spec.node_count > 1
        if several:
            return f"Its {run.spec.node_count} nodes of {target} are being prepared; its processes start together."
        return f"Its agent is starting on a node of {target}."
    if run.status is RunStatus.CANCEL_REQUESTED:
        return "It was asked to end; its processes have a few seconds to do so before they are killed."
    if run.status is RunStatus.NOT_RESPONDING:
        return "Nothing was received from its process for a while; the run continues as soon as it reports again."
    if run.status is RunStatus.FINALIZING:
        what = "its outputs are uploaded and " if run.spec.outputs else ""
        return f"Its script has ended; {what}its files are being kept."
    if run.status is RunStatus.RUNNING:
        return "It is running."
    return run.message or "It was submitted a moment ago and is about to be queued."
