"""A gang: the agents of a run on several nodes. They get their nodes together, meet, start together and end together.

Pure. `ending` decides when the running members must end, `end` how the run ended once all have ended; both use only the members
as the store has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.runs import Reason, RunStatus


class Phase(StrEnum):
    GIVEN = "given"
    """Its node exists; its agent has not reported yet."""
    PREPARING = "preparing"
    MET = "met"
    """It is ready to start and waits for the others."""
    RUNNING = "running"
    SERVING = "serving"
    """It has no process that the run waits for: it ends when all others have ended."""
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
    """Free ports on its node at the time of the meeting."""
    phase: Phase = Phase.GIVEN
    handle: str = ""
    """The engine's handle for its agent."""
    salvaged: bool = False
    """Its agent was lost, and another one was started to salvage its data."""
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
"""Reasons of members that ended because of an event on another node."""


SILENT_SECONDS = 60.0
"""A member that has reported before and then not for this time is not responding."""


def silent(members: Sequence[Member], now: float, since: float = 0.0) -> list[Member]:
    """The members that should report and do not; the time counts from `since` at the earliest."""
    return [
        member
        for member in members
        if member.phase not in (Phase.GIVEN, Phase.ENDED)
        and now - max(member.heard_at or 0.0, member.given_at, since) > SILENT_SECONDS
    ]


def all_met(members: Sequence[Member]) -> bool:
    """True when all may start. A member in a later phase has met the others; a member that ended without ports never did."""
    waiting = (Phase.GIVEN, Phase.PREPARING)
    return all(m.phase not in waiting and (m.phase is not Phase.ENDED or bool(m.ports)) for m in members)


def ending(members: Sequence[Member]) -> End | None:
    """Why the running members must end; None while they continue, and once all have ended."""
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
    """How the run ended; None until every member has ended. `canceled`: a person requested it; members that fail after that fail
    because their peers are gone."""
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
    """True when a node whose script succeeded may deliver its data; False once another node has ended without success. None while
    it must wait: for all other scripts, and for the deliveries of lower ranks."""
    others = [member for member in members if member.node_rank != node_rank]
    if any(member.to not in (None, RunStatus.COMPLETED) for member in others):
        return False
    done = all(member.phase in (Phase.FINALIZING, Phase.SERVING, Phase.ENDED) for member in others)
    first = all(member.phase is Phase.ENDED for member in others if member.node_rank < node_rank)
    return True if done and first else None


def _cause(members: Sequence[Member]) -> Member | None:
    """The first member that failed by itself; else the first that was cancelled. A member that timed out comes first: it reports
    only after its processes have ended, and by then other ranks may have failed without them."""
    told = [m for m in members if m.to is not None and m.to is not RunStatus.COMPLETED]
    own = [m for m in told if m.reason not in ECHOES]
    own.sort(key=lambda m: (m.reason is not Reason.TIMED_OUT, m.ended_at or 0.0, m.node_rank))
    failed = [m for m in own if m.to is RunStatus.FAILED]
    return next(iter(failed or own), None)


def _words(cause: Member, members: Sequence[Member]) -> str:
    """The message of that member, then the messages and names of the members that ended because of it."""
    others = [m for m in members if m.reason is Reason.NODE_FAILED and m is not cause]
    said = [f"On {m.name}: {m.message}" for m in (cause, *others) if m.message or m is cause]
    also = [f"It was ended on {', '.join(m.name for m in others)} too."] if others else []
    return "\n".join(said + also)
