"""Gangs: what the agents of a run with several nodes say, and what follows from it for the run. Start with `report`.

Each member ends by itself; the run's own end is written once, when all have (`settle`). Until then the first failure, or the end
of all that the run waits for, is told to the rest through the run's `ending`, which they hear in their heartbeats.
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
"""The exit code of a command to a node that has ended: what a remote shell says when it does not reach its host."""
_TRIES = 20
_PHASES = {RunStatus.RUNNING: Phase.RUNNING, RunStatus.FINALIZING: Phase.FINALIZING}


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """What an agent brings to the meeting; its address is known."""

    ports: tuple[int, ...] = ()
    attempt: int = 0
    """As in `Report`."""


@dataclass(frozen=True, kw_only=True)
class MemberReport(Report):
    """What a member says happened on its node."""

    serving: bool = False
    """It runs, with no process that the run goes on for."""


def members(context: Context, caller: Caller, run_id: str) -> Sequence[Member]:
    caller.require(Action.GANG_READ)
    runs.find(context, run_id)
    return context.store.gangs.members(run_id)


def meet(context: Context, caller: Caller, run_id: str, node_rank: int, said: Meeting) -> Sequence[Member]:
    """A member is ready; all of them, to see who else is."""
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
    """A member lives. A run that was given up as silent goes on where it was. One of an earlier attempt counts for nothing."""
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
        return context.store.runs.heard(run_id, now)  # another is the silent one
    return runs.heartbeat(context, caller, run_id)


def report(
    context: Context, caller: Caller, run_id: str, node_rank: int, said: MemberReport, clock: float | None = None
) -> Run:
    """A member tells what happened on its node, perhaps long after; `clock` is that of its node when it says so."""
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
    # It has failed, and still ships what it made: the others need not wait for that.
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
    """How a member ended; said again it changes nothing."""
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
    """Writes what follows from where the members stand. Safe to call at any time, and twice."""
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
        except Conflict:  # it moved between the look and the word
            continue
    raise Conflict(f"Run {run_id} changes too fast to be settled.")


def _tell(context: Context, run: Run, why: End | None) -> Run:
    """Those that still run are told to end; a run that is being ended already is told nothing new."""
    if why is None or run.ending in ENDINGS or run.status is RunStatus.CANCEL_REQUESTED:
        return run
    told, _ = runs.move(context, run.id, run.status, why.reason, why.message)
    context.store.leases.touch(RUNS, run.id)
    context.signals.notify(CONTROL)
    return told


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command that one node has for another."""

    argv: tuple[str, ...]
    key: str = ""
    """Of the caller's own making: sent again with the same one it is the same command."""
    attempt: int = 0
    """As in `Report`."""


def send(context: Context, caller: Caller, run_id: str, node_rank: int, order: Order) -> int:
    """A command for the agent of a node; its number."""
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
    """That one; None when there is none of this number. What its node did not come to before it ended has ended too."""
    caller.require(Action.GANG_READ)
    found = next((each for each in commands(context, caller, run_id, number - 1) if each.number == number), None)
    if found is None or found.exit_code is not None:
        return found
    there = context.store.gangs.members(run_id)
    ends = not there or there[found.node_rank].phase in (Phase.FINALIZING, Phase.ENDED)
    return replace(found, exit_code=NOT_EXECUTED) if ends else found


def end_command(context: Context, caller: Caller, run_id: str, number: int, exit_code: int, attempt: int = 0) -> None:
    """Said by an agent of an earlier attempt it counts for nothing: the number may be another command's by now."""
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
