"""Watches gangs: each agent is started, watched and salvaged by itself; the run ends when all have ended.

The state is in the store (`gang_members`), so a restarted control plane continues. This module decides about members only;
`services/gangs.settle` decides about the run.
"""

import logging

from roost.control.environments import AGAIN_SECONDS, BuildWatch
from roost.control.watching import CANCEL_SECONDS, LOOK_SECONDS, QUIET_SECONDS, Finding, words_of
from roost.domain import gangs as domain
from roost.domain.errors import Conflict
from roost.domain.gangs import Member, Phase
from roost.domain.plans import Errand, seat
from roost.domain.runs import Reason, Run, RunStatus
from roost.engines.base import AgentState
from roost.services import gangs
from roost.services.gangs import MemberReport

log = logging.getLogger("roost.control")

JOIN_SECONDS = 60.0
"""A node whose agent was started and has not reported for this long is given up."""


class GangWatch(BuildWatch):
    """A Watch that also handles runs of several nodes."""

    def gang(self, run: Run) -> Finding:
        """Checks every member that has not ended."""
        members = self._context.store.gangs.members(run.id)
        now = self._context.store.runs.get(run.id)
        if now.attempt != run.attempt or not now.status.holds_node:
            return Finding(seconds=0)  # it was queued again, or restarted, since it was leased
        run = now
        if not members:
            message = "The list of its nodes is missing."
            return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.START_FAILED, message=message)
        pauses = [self._member(run, member) for member in members if member.phase is not Phase.ENDED]
        now = gangs.settle(self._context, run.id)
        silent = domain.silent(self._context.store.gangs.members(run.id), self._context.clock(), self._up_since)
        if silent and now.status in (RunStatus.RUNNING, RunStatus.FINALIZING) and not now.ending:
            names = ", ".join(member.name for member in silent)
            message = f"Nothing was received from {names} for {domain.SILENT_SECONDS:.0f} s."
            return Finding(seconds=LOOK_SECONDS, to=RunStatus.NOT_RESPONDING, reason=Reason.SILENT, message=message)
        return Finding(seconds=min(pauses, default=LOOK_SECONDS))

    def _member(self, run: Run, member: Member) -> float:
        ending = run.status is RunStatus.CANCEL_REQUESTED or bool(run.ending)
        if (
            not member.handle
            and member.heard_at is None
            and seat(run.id, member.node_rank, run.attempt) not in self._there
        ):
            if ending:
                return self._give_up(run, member, "It was ended before its script started on this node.")
            return self._begin_member(run, member)
        quiet = self._context.clock() - max(member.heard_at or 0.0, member.given_at, self._up_since)
        if quiet < QUIET_SECONDS and not ending:  # it reported recently: the engine need not be asked
            return QUIET_SECONDS - quiet + 0.1
        state = self._status(run, member.handle) if member.handle else AgentState.GONE
        if state is AgentState.GONE and quiet >= QUIET_SECONDS:
            return self._member_lost(run, member)
        if member.phase is Phase.GIVEN and quiet >= JOIN_SECONDS:
            self._stop_member(run, member)
            return self._give_up(run, member, f"Its agent was started and did not report within {JOIN_SECONDS:.0f} s.")
        if ending and self._asked_ago(run) >= CANCEL_SECONDS and state is AgentState.ALIVE:
            self._stop_member(run, member)
        if state is AgentState.UNKNOWN and ending and min(quiet, self._asked_ago(run)) >= domain.SILENT_SECONDS:
            words = f"Its node has not answered for {quiet:.0f} s; processes of the run may still exist there."
            return self._give_up(run, member, words, Reason.AGENT_LOST)
        return LOOK_SECONDS

    def _begin_member(self, run: Run, member: Member) -> float:
        key = seat(run.id, member.node_rank, run.attempt)
        try:
            handle = self._start(run, Errand.RUN, member)
        except Conflict:
            if self._built_lately(run):  # its build agent has not exited yet
                return AGAIN_SECONDS
            log.info("%s of run %s has an agent already; its handle is not known", member.name, run.id)
            self._there.add(key)
            return LOOK_SECONDS
        except Exception as error:  # noqa: BLE001 no error of an engine may lose the run
            if self._may_pass(run, error, key):
                return self._later(key)
            self._attempts.pop(key, None)
            return self._give_up(run, member, f"Its agent could not be started: {words_of(error)}")
        self._attempts.pop(key, None)
        self._context.store.gangs.update(run.id, member.node_rank, handle=handle, attempt=run.attempt)
        return QUIET_SECONDS

    def _member_lost(self, run: Run, member: Member) -> float:
        """No process of its agent is left: one salvage pass, and when that is lost too, the member's end."""
        if member.salvaged:
            return self._give_up(
                run,
                member,
                "Its agent ended unexpectedly, and so did the one that was started to save its files.",
                Reason.AGENT_LOST,
            )
        log.warning("the agent of %s of run %s is gone; what it left is salvaged", member.name, run.id)
        key = seat(run.id, member.node_rank, run.attempt)
        try:
            handle = self._start(run, Errand.SALVAGE, member)
        except Conflict:
            return LOOK_SECONDS  # a process still holds its folder
        except Exception as error:  # noqa: BLE001 no error of an engine may lose the run
            if self._may_pass(run, error, key):
                return self._later(key)
            words = f"Its agent ended unexpectedly, and its files could not be saved: {words_of(error)}"
            return self._give_up(run, member, words, Reason.AGENT_LOST)
        now = self._context.clock()
        self._context.store.gangs.update(
            run.id, member.node_rank, handle=handle, salvaged=True, heard_at=now, attempt=run.attempt
        )
        return QUIET_SECONDS

    def _give_up(self, run: Run, member: Member, words: str, reason: Reason = Reason.START_FAILED) -> float:
        """Stores the end of a member that cannot report it."""
        to = RunStatus.FAILED
        if run.status is RunStatus.CANCEL_REQUESTED:
            to, reason = RunStatus.CANCELED, Reason.CANCELED_BY_USER
        elif run.ending:
            reason = run.ending if reason is Reason.START_FAILED else reason
        gangs.conclude(
            self._context,
            run.id,
            member.node_rank,
            MemberReport(to=to, reason=reason, message=words, attempt=run.attempt),
        )
        return LOOK_SECONDS

    def _stop_member(self, run: Run, member: Member) -> None:
        if member.handle:
            self._engine(run).stop(member.handle)
