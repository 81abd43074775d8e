"""Runs: submitted, watched, annotated, cancelled, reported on. `move` is the one way to a new status."""

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
"""What an agent or client may say of its run; the rest is the control plane's to decide."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an agent or client says happened."""

    to: RunStatus
    reason: Reason = Reason.NONE
    message: str = ""
    exit_code: int | None = None
    attempt: int = 0
    """Of the agent that says so; 0 from those who know of none. What an earlier one says again is passed over."""
    at: float | None = None
    """When it happened, by the clock of whoever says so; None for now."""


Said = TypeVar("Said", bound=Report)


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What to change of a run's labels; what is left out stays."""

    tags: Mapping[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    display_name: str | None = None
    description: str | None = None


def submit(context: Context, caller: Caller, workspace: str, submission: Submission) -> tuple[Run, bool]:
    """The run, and whether it is new: sent twice, it is the same one."""
    caller.require(Action.RUN_SUBMIT)
    return add(context, caller, workspace, submission)


def add(context: Context, caller: Caller, workspace: str, submission: Submission) -> tuple[Run, bool]:
    """What `submit` does, for a run and for a child of one: the permission is checked by the deed that calls it."""
    submissions.check(context, workspace, submission)
    datasets.check_run(context, caller, workspace, submission.spec)
    if submission.parent_id is None and not _is_known(context, submission.id):  # children belong to a run that goes on
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
    """For other deeds and the control loops, which have checked their own permission."""
    return context.store.runs.get(names.run_id(run_id))


def listing(context: Context, caller: Caller, query: RunQuery, order: Order | None = None) -> Sequence[Run]:
    """Newest first, or in an order that was asked for."""
    caller.require(Action.RUN_LIST)
    _check(context, query)
    return context.store.runs.list(query) if order is None else context.store.runs.ranked(query, order)


def texts(context: Context, caller: Caller, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
    """The same by id, as the JSON texts of runs."""
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
    """Which arguments, metrics and tags the runs of a selection have."""
    caller.require(Action.RUN_LIST)
    context.store.workspaces.get(names.workspace(query.workspace))
    return context.store.runs.columns(query)


def active(context: Context, caller: Caller) -> int:
    """How many runs hold a node."""
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
    """How a person wants a run to have ended."""

    to: RunStatus
    """Completed or Failed; to cancel it is a deed of its own."""
    message: str = ""
    """Why, in the person's words."""


def mark(context: Context, caller: Caller, run_id: str, wanted: Mark) -> Run:
    """Ends a run from outside, with the status that the caller wants. One that an agent has is asked to end, as by a cancel, and
    gets that status when its processes have ended; any other ends here. One that has ended stays as it is."""
    caller.require(Action.RUN_MARK)
    run = find(context, run_id)
    reason = next((reason for reason, to in MARKS.items() if to is wanted.to), None)
    if reason is None:
        choices = ", ".join(sorted(status.value for status in MARKS.values()))
        raise InvalidInput(f"A run cannot be marked as {wanted.to.value}.", hint=f"It can be marked as: {choices}.")
    message = wanted.message or f"It was marked as {wanted.to.value} by {caller.user}."
    return run if run.status.is_terminal else _ask_to_end(context, run, wanted.to, reason, _bounded(message))


def cancel(context: Context, caller: Caller, run_id: str) -> Run:
    """A run that an agent has is asked to end, any other ends here, and so do all that were submitted below it: the others live
    in its process, and end with it. One that has ended stays as it is."""
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
    # A run that is claimed between the look and this line is stopped by `control/runs` once its agent has a handle.
    try:
        run, _ = move(context, run.id, to, reason, message)
    except Conflict:  # it ended between the look and this: then there is nothing left to end
        run = find(context, run.id)
        if not run.status.is_terminal:
            raise
    context.store.leases.touch(RUNS, run.id)
    return run


def _builds_in_queue(context: Context, run: Run) -> bool:
    """Whether its build agent may wait in the queue of an engine, where it hears of nothing: the control loop takes it out."""
    if run.status is not RunStatus.PREPARING or not run.handle:
        return False
    engine = context.engines.get(context.store.computes.get(run.workspace, run.spec.target).engine)
    return engine is not None and engine.queues


def delete(context: Context, caller: Caller, run_id: str) -> Sequence[str]:
    """Deletes a run that has ended, with those below it; the ids of what went, none when there was no such run. What they alone
    refer to is freed by the next sweep."""
    caller.require(Action.RUN_DELETE)
    gone = reserve.spend(context.reserve, lambda: context.store.runs.delete(names.run_id(run_id)))
    context.signals.notify(*(run_topic(each) for each in gone))
    return gone


WAITED_SECONDS = 3.0
"""A report whose clock is so little behind has waited, at a control plane that was about to start, say: the clocks agree."""


def happened(context: Context, run: Run, said: Report, clock: float | None) -> float:
    """The time of what is said, by the control plane's own clock: as long ago as it is by the sender's, whose `clock` came with
    it. Never later than now, nor before the run began."""
    now = context.clock()
    if said.at is None or not math.isfinite(said.at):
        return now
    behind = now - clock if clock is not None and math.isfinite(clock) else 0.0
    at = said.at if 0 <= behind <= WAITED_SECONDS else said.at + behind
    return max(min(now, at), run.started_at or run.created_at)


def report(context: Context, caller: Caller, run_id: str, said: Report, clock: float | None = None) -> Run:
    """An agent or client tells what happened to its run, perhaps long after."""
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
    """The same, its message no longer than the store should keep; InvalidInput for an exit code that is none."""
    if said.exit_code is not None and not -(2**31) <= said.exit_code < 2**31:
        raise InvalidInput(f"An exit code has 32 bits, got {said.exit_code}.")
    return replace(said, message=_bounded(said.message))


def _bounded(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else "…" + message[-MAX_MESSAGE:]


def heartbeat(context: Context, caller: Caller, run_id: str) -> Run:
    """An agent or client lives. A run that was given up as silent goes on where it was."""
    caller.require(Action.RUN_REPORT)
    run = context.store.runs.heard(names.run_id(run_id), context.clock())
    if run.status is not RunStatus.NOT_RESPONDING:
        return run
    before = [event for event in context.store.runs.events(run_id) if event.to is not RunStatus.NOT_RESPONDING]
    back = before[-1].to if before and before[-1].to in (RunStatus.RUNNING, RunStatus.FINALIZING) else RunStatus.RUNNING
    run, _ = move(context, run_id, back, before[-1].reason if before else Reason.NONE, "Its agent reports again.")
    return run


def missed(context: Context, run: Run) -> None:
    """The connection of its agent broke: the control loop looks after it soon, not when it would have looked anyway."""
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
    """The one way to a new status: the store's `apply`, then everybody who waits for it is woken. `at` is when it happened."""
    when = context.clock() if at is None else at
    event = RunEvent(to=to, at=when, reason=reason, message=message, exit_code=exit_code, handle=handle)
    run, moved = context.store.runs.apply(run_id, event, lease=lease, attempt=attempt)
    if moved:
        if run.status.is_terminal:
            rank_logs.seal(context, run_id)  # a log that was merged here is nobody else's to seal
            people.expire_run_tokens(context, run_id)
            end_children(context, run)
        elif run.status is RunStatus.QUEUED and run.attempt > 1:
            rank_logs.put_aside(context, run)
        context.signals.notify(run_topic(run_id), CONTROL)
    return run, moved


def end_children(context: Context, run: Run) -> None:
    """Those that lived in the process of a run that has ended, and did not end by themselves, end as it did; one that never
    began is Canceled. Children that were submitted have processes of their own, and go on."""
    for child in lineage.children(context, run):
        if child.spec.kind is RunKind.INTERACTIVE and not child.status.is_terminal:
            began = child.status is not RunStatus.NOT_STARTED
            words = f"It ended with its parent, run {run.id}." if began else "It had not begun when its parent ended."
            move(context, child.id, run.status if began else RunStatus.CANCELED, Reason.PARENT_ENDED, words)


def why(context: Context, run: Run) -> str:
    """In words: what the run waits for, or how it ended."""
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
