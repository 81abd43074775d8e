"""Gangs: the reports of the agents of a run with several nodes, and their effect on the run. Start with `report`.

Each member ends by itself; the run's own end is written once, when all have ended (`settle`). Before that, the first failure, or
the end of every process that the run waits for, sets the run's `ending`, which the other members read in their heartbeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roost.domain import gangs, names
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.gangs import End, Member, Phase
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import ENDINGS, Reason, Run, RunStatus
from roost.services import runs
from roost.services.context import Context
from roost.services.runs import Report
from roost.services.signals import CONTROL, gang_topic, run_topic
from roost.store.base import RUNS, Command

MAX_PORTS = 2048
MAX_ARGV = 128 * 1024
MAX_KEY = 64
NOT_EXECUTED = 255
"""The exit code of a command to a node that has ended, as a remote shell returns when it does not reach its host."""
_TRIES = 20
_PHASES = {RunStatus.RUNNING: Phase.RUNNING, RunStatus.FINALIZING: Phase.FINALIZING}


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """What an agent sends when it is ready to start; its address is known already."""

    ports: tuple[int, ...] = ()
    attempt: int = 0
    """As in `Report`."""


@dataclass(frozen=True, kw_only=True)
class MemberReport(Report):
    """A member's report of what happened on its node."""

    serving: bool = False
    """True when it runs, but has no process that the run waits for."""


def members(context: Context, caller: Caller, run_id: str) -> Sequence[Member]:
    caller.require(Action.GANG_READ)
    runs.find(context, run_id)
    return context.store.gangs.members(run_id)


def meet(context: Context, caller: Caller, run_id: str, node_rank: int, said: Meeting) -> Sequence[Member]:
    """Notes that a member is ready; returns all members, so that it sees which others are."""
    caller.require(Action.RUN_REPORT)
    if len(said.ports) > MAX_PORTS or not all(1 <= port <= 65535 for port in said.ports):
        raise InvalidInput(f"At most {MAX_PORTS} ports of 1 to 65535 can be brought, got {list(said.ports)[:20]}.")
    now = context.clock()
    there = _member(context, run_id, node_rank)
    if there.phase in (Phase.GIVEN, Phase.PREPARING):
        everyone = context.store.gangs.update(
            run_id, node_rank, phase=Phase.MET, ports=said.ports, heard_at=now, attempt=said.attempt
        )
        context.signals.notify(gang_topic(run_id))
        return everyone
    return context.store.gangs.members(run_id)


def heartbeat(context: Context, caller: Caller, run_id: str, node_rank: int, attempt: int = 0) -> Run:
    """Notes that a member is alive. A run that was NotResponding returns to its earlier status. A heartbeat of an earlier attempt
    is ignored."""
    caller.require(Action.RUN_REPORT)
    run = runs.find(context, run_id)
    if attempt and attempt != run.attempt:
        return run
    first = _member(context, run_id, node_rank).phase is Phase.GIVEN
    now = context.clock()
    if first:
        context.store.gangs.update(run_id, node_rank, heard_at=now, phase=Phase.PREPARING, attempt=attempt)
    else:
        context.store.gangs.update(run_id, node_rank, heard_at=now, attempt=attempt)
    if run.status is RunStatus.NOT_RESPONDING and gangs.silent(context.store.gangs.members(run_id), now):
        return context.store.runs.heard(run_id, now)  # another member is silent
    return runs.heartbeat(context, caller, run_id)


def report(
    context: Context, caller: Caller, run_id: str, node_rank: int, said: MemberReport, clock: float | None = None
) -> Run:
    """Takes in a member's report about its node, perhaps long after the event; `clock` is the node's clock when it sent the
    report."""
    caller.require(Action.RUN_REPORT)
    said = runs.bounded(said)
    run = runs.find(context, run_id)
    if said.attempt and said.attempt != run.attempt:
        return run
    _member(context, run_id, node_rank)
    now = context.clock()
    if said.to.is_terminal:
        return conclude(context, run_id, node_rank, said, clock)
    if said.to not in _PHASES:
        raise Conflict(f"{said.to.value} is not a member's to report.")
    phase = Phase.SERVING if said.serving else _PHASES[said.to]
    failed = said.to is RunStatus.FINALIZING and said.reason is not Reason.SCRIPT_ENDED
    # A failed member may still ship its files: the others need not wait for that.
    end = {"to": RunStatus.FAILED, **_how(said), "ended_at": runs.happened(context, run, said, clock)} if failed else {}
    everyone = context.store.gangs.update(run_id, node_rank, phase=phase, heard_at=now, attempt=said.attempt, **end)
    context.signals.notify(gang_topic(run_id))
    last = all(member.phase in (Phase.FINALIZING, Phase.ENDED) for member in everyone)
    begins = said.to is RunStatus.RUNNING and run.status is not RunStatus.RUNNING
    if begins or last:
        reason = Reason.SCRIPT_ENDED if last else said.reason
        runs.report(context, caller, run_id, Report(to=said.to, reason=reason, at=said.at), clock)
    else:
        context.signals.notify(run_topic(run_id))
    return settle(context, run_id)


def conclude(context: Context, run_id: str, node_rank: int, said: MemberReport, clock: float | None = None) -> Run:
    """Stores how a member ended. Safe twice."""
    now = context.clock()
    context.store.gangs.update(
        run_id,
        node_rank,
        attempt=said.attempt,
        phase=Phase.ENDED,
        to=said.to,
        **_how(runs.bounded(said)),
        ended_at=runs.happened(context, runs.find(context, run_id), said, clock),
        heard_at=now,
    )
    context.signals.notify(gang_topic(run_id))
    return settle(context, run_id)


def _how(said: MemberReport) -> dict[str, object]:
    return {"reason": said.reason, "message": said.message, "exit_code": said.exit_code}


def settle(context: Context, run_id: str) -> Run:
    """Writes what the states of the members mean for the run. Safe to call at any time, and twice."""
    for _ in range(_TRIES):
        run = runs.find(context, run_id)
        everyone = context.store.gangs.members(run_id)
        if run.status.is_terminal or not everyone:
            return run
        over = gangs.end(everyone, canceled=run.status is RunStatus.CANCEL_REQUESTED)
        try:
            if over is not None:
                end = (over.to, over.reason, over.message)
                ended = max([run.started_at or run.created_at, *(each.ended_at or 0.0 for each in everyone)])
                return runs.move(context, run.id, *end, exit_code=over.exit_code, attempt=run.attempt, at=ended)[0]
            return _tell(context, run, gangs.ending(everyone))
        except Conflict:  # the run's status changed since it was read
            continue
    raise Conflict(f"Run {run_id} changes too fast to be settled.")


def _tell(context: Context, run: Run, why: End | None) -> Run:
    """Asks the members that still run to end, unless the run is already being ended."""
    if why is None or run.ending in ENDINGS or run.status is RunStatus.CANCEL_REQUESTED:
        return run
    told, _ = runs.move(context, run.id, run.status, why.reason, why.message)
    context.store.leases.touch(RUNS, run.id)
    context.signals.notify(CONTROL)
    return told


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command from one node for another."""

    argv: tuple[str, ...]
    key: str = ""
    """Chosen by the caller: a command that is sent again with the same key is the same command."""
    attempt: int = 0
    """As in `Report`."""


def send(context: Context, caller: Caller, run_id: str, node_rank: int, order: Order) -> int:
    """Queues a command for the agent of a node; returns its number."""
    caller.require(Action.GANG_COMMAND)
    argv = order.argv
    if len(order.key) > MAX_KEY:
        raise InvalidInput(f"A command's key has at most {MAX_KEY} characters, got {len(order.key)}.")
    if not argv or sum(map(len, argv)) > MAX_ARGV or any("\0" in word for word in argv):
        raise InvalidInput(f"A command has words of together 1 to {MAX_ARGV} characters, without zero bytes.")
    member = _member(context, run_id, node_rank)
    if member.phase is Phase.ENDED:
        raise Conflict(f"Nothing is executed on {member.name} any more: it has ended.")
    number = context.store.gangs.send(run_id, node_rank, argv, key=order.key, attempt=order.attempt)
    context.signals.notify(gang_topic(run_id))
    return number


def commands(context: Context, caller: Caller, run_id: str, after: int = 0) -> Sequence[Command]:
    caller.require(Action.GANG_READ)
    return context.store.gangs.commands(names.run_id(run_id), after)


def command(context: Context, caller: Caller, run_id: str, number: int) -> Command | None:
    """The command with this number; None when there is none. A command that its node did not execute before it ended has ended
    too."""
    caller.require(Action.GANG_READ)
    found = next((each for each in commands(context, caller, run_id, number - 1) if each.number == number), None)
    if found is None or found.exit_code is not None:
        return found
    there = context.store.gangs.members(run_id)
    ends = not there or there[found.node_rank].phase in (Phase.FINALIZING, Phase.ENDED)
    return replace(found, exit_code=NOT_EXECUTED) if ends else found


def end_command(context: Context, caller: Caller, run_id: str, number: int, exit_code: int, attempt: int = 0) -> None:
    """Stores a command's exit code. A report of an earlier attempt is ignored: the number may belong to another command by
    now."""
    caller.require(Action.GANG_COMMAND)
    if attempt and attempt != runs.find(context, run_id).attempt:
        return
    context.store.gangs.end_command(names.run_id(run_id), number, exit_code)
    context.signals.notify(gang_topic(run_id))


def _member(context: Context, run_id: str, node_rank: int) -> Member:
    runs.find(context, run_id)
    there = context.store.gangs.members(run_id)
    if not 0 <= node_rank < len(there):
        raise NotFound(f"Run {run_id} has no node {node_rank} now.")
    return there[node_rank]
