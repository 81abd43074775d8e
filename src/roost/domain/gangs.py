"""A gang: the agents of a run that has several nodes. They are given their nodes together, meet, start together and end together.

Pure. `ending` says when those that still run have to end, `end` how the run ended once all have; both look at nothing but the
members as they stand in the store.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.runs import Reason, RunStatus


class Phase(StrEnum):
    GIVEN = "given"
    """Its node is there; its agent has not spoken yet."""
    PREPARING = "preparing"
    MET = "met"
    """It is ready to start, and waits for the others."""
    RUNNING = "running"
    SERVING = "serving"
    """It has no process that the run goes on for, or none any more: it ends when all others have ended."""
    FINALIZING = "finalizing"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One node's agent."""

    run_id: str
    node_rank: int
    node: str
    """The node's name; a hostname."""
    address: str
    given_at: float
    ports: tuple[int, ...] = ()
    """Free on its node when it met the others."""
    phase: Phase = Phase.GIVEN
    handle: str = ""
    """The engine's own word for its agent."""
    salvaged: bool = False
    """Its agent was lost, and another was sent to keep what it left."""
    heard_at: float | None = None
    ended_at: float | None = None
    to: RunStatus | None = None
    """How it ended."""
    reason: Reason = Reason.NONE
    message: str = ""
    exit_code: int | None = None

    @property
    def name(self) -> str:
        return f"node {self.node_rank} ({self.node})"


@dataclass(frozen=True, kw_only=True)
class End:
    to: RunStatus
    reason: Reason
    message: str = ""
    exit_code: int | None = None


ECHOES = frozenset({Reason.NODE_FAILED, Reason.NODES_DONE, Reason.PREEMPTED})
"""Ends of members that were told to end, for what happened elsewhere."""


SILENT_SECONDS = 60.0
"""A member that has spoken, and then not for so long, is not responding."""


def silent(members: Sequence[Member], now: float, since: float = 0.0) -> list[Member]:
    """Those that should be heard and are not; silence counts from `since` at the earliest."""
    return [
        member
        for member in members
        if member.phase not in (Phase.GIVEN, Phase.ENDED)
        and now - max(member.heard_at or 0.0, member.given_at, since) > SILENT_SECONDS
    ]


def all_met(members: Sequence[Member]) -> bool:
    """Whether all may start. One that has come further has met the others before; one that ended with no ports never came."""
    waiting = (Phase.GIVEN, Phase.PREPARING)
    return all(m.phase not in waiting and (m.phase is not Phase.ENDED or bool(m.ports)) for m in members)


def ending(members: Sequence[Member]) -> End | None:
    """Why those that still run have to end; None while they go on. Never for the end of all."""
    if all(member.phase is Phase.ENDED for member in members):
        return None
    cause = _cause(members)
    if cause is not None:
        return End(to=RunStatus.FAILED, reason=Reason.NODE_FAILED, message=_words(cause, members))
    phases = {member.phase for member in members}
    if phases <= {Phase.ENDED, Phase.FINALIZING, Phase.SERVING} and Phase.SERVING in phases:
        return End(
            to=RunStatus.COMPLETED, reason=Reason.NODES_DONE, message="All processes that the run waits for have ended."
        )
    return None


def end(members: Sequence[Member], *, canceled: bool = False) -> End | None:
    """How the run ended; None while one member has not. `canceled`: a person has asked for it; then what fails on the way fails
    because its peers are gone."""
    if not all(member.phase is Phase.ENDED for member in members):
        return None
    if all(member.to is RunStatus.COMPLETED for member in members):
        return End(to=RunStatus.COMPLETED, reason=Reason.DONE, exit_code=0)
    if canceled:
        words = next((m.message for m in members if m.to is RunStatus.CANCELED and m.message), "")
        return End(to=RunStatus.CANCELED, reason=Reason.CANCELED_BY_USER, message=words)
    cause = _cause(members)
    if cause is not None and cause.to is RunStatus.FAILED:
        words = _words(cause, members)
        return End(to=RunStatus.FAILED, reason=cause.reason, message=words, exit_code=cause.exit_code)
    if cause is not None:
        return End(to=RunStatus.CANCELED, reason=cause.reason, message=cause.message, exit_code=cause.exit_code)
    if any(member.reason is Reason.PREEMPTED for member in members):
        return End(to=RunStatus.FAILED, reason=Reason.PREEMPTED, message="Its nodes were taken away.")
    told = next(member for member in members if member.to is not RunStatus.COMPLETED)
    return End(to=RunStatus.FAILED, reason=told.reason, message=_words(told, members), exit_code=told.exit_code)


def may_deliver(members: Sequence[Member], node_rank: int) -> bool | None:
    """Whether a node whose script has ended well may deliver its data; None while it has to wait: for the scripts of all others,
    and for the deliveries of those before it. Never when another has not ended well."""
    others = [member for member in members if member.node_rank != node_rank]
    if any(member.to not in (None, RunStatus.COMPLETED) for member in others):
        return False
    done = all(member.phase in (Phase.FINALIZING, Phase.SERVING, Phase.ENDED) for member in others)
    first = all(member.phase is Phase.ENDED for member in others if member.node_rank < node_rank)
    return True if done and first else None


def _cause(members: Sequence[Member]) -> Member | None:
    """The first that failed by itself; else the first that was cancelled. One that ran out of its time says so only when its
    processes are ended, and by then ranks elsewhere may have failed for want of them: it comes first."""
    told = [m for m in members if m.to is not None and m.to is not RunStatus.COMPLETED]
    own = [m for m in told if m.reason not in ECHOES]
    own.sort(key=lambda m: (m.reason is not Reason.TIMED_OUT, m.ended_at or 0.0, m.node_rank))
    failed = [m for m in own if m.to is RunStatus.FAILED]
    return next(iter(failed or own), None)


def _words(cause: Member, members: Sequence[Member]) -> str:
    """What happened there; what those that ended with it have to say of it, and who they are."""
    others = [m for m in members if m.reason is Reason.NODE_FAILED and m is not cause]
    said = [f"On {m.name}: {m.message}" for m in (cause, *others) if m.message or m is cause]
    also = [f"It was ended on {', '.join(m.name for m in others)} too."] if others else []
    return "\n".join(said + also)
