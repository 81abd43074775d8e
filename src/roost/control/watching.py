"""Asks the engine about a run and decides what follows from the answer. Writes nothing but tokens.

Silence alone fails no run: the engine is asked first, and silence counts from the control plane's own start at the earliest (a
laptop that slept, a server that was restarted). An agent is given up only when the engine reports that no process of it is left;
then one salvage pass ships the data it left behind and reports the end.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from roost.domain import sizes
from roost.domain.compute import Compute, ComputeKind, Priority, split_gpus
from roost.domain.errors import ComputeNotFound, Conflict, RoostError, Unavailable
from roost.domain.gangs import Member
from roost.domain.plans import LOOPBACK, Access, Errand, Plan, seat
from roost.domain.runs import Reason, Run, RunEvent, RunStatus
from roost.engines.base import Abilities, AgentState, Engine, Waiting
from roost.services import archives, environments, people
from roost.services.context import Context

log = logging.getLogger("roost.control")

QUIET_SECONDS = 7.0
"""The engine is asked about an agent this long after its last message. An agent with an open heartbeat request counts as
heard."""
PRESENT_SECONDS = 30.0
"""Between checks of an agent with an open heartbeat: when its connection breaks, the run is checked at once."""
LOOK_SECONDS = 3.0
"""Between checks of an agent that is silent."""
SILENT_SECONDS = 60.0
"""An agent that is alive, but has sent nothing for this long, is not responding."""
CANCEL_SECONDS = 12.0
"""The time an agent has to end its run before the engine stops the agent."""
START_ATTEMPTS = 4
"""How often a start is tried when the engine reports a temporary obstacle."""
RETRY_SECONDS = 0.5
STARTED = "Its agent has started."


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of checking a run."""

    seconds: float
    """Seconds until the next check."""
    to: RunStatus | None = None
    """The run's next status; None for no change."""
    reason: Reason = Reason.NONE
    message: str = ""
    handle: str = ""
    """The handle of an agent that was just started."""


class Watch:
    def __init__(self, context: Context, engines: Mapping[str, Engine], access: Callable[[str], Access]) -> None:
        self._context = context
        self._engines = engines
        self._access = access
        self._up_since = context.clock()
        self._attempts: dict[str, int] = {}
        self._there: set[str] = set()
        """Seats whose node reported that an agent exists, though an earlier control plane lost its handle."""

    def begin(self, run: Run) -> Finding:
        """Starts the agent of a run that has a node."""
        if _seat(run) in self._there:
            return self.agent(run)
        try:
            handle = self._start(run, Errand.RUN)
        except Conflict:
            log.info("run %s has an agent already; its handle is not known", run.id)
            self._there.add(_seat(run))
            return Finding(seconds=LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 no error of an engine may lose the run
            if self._may_pass(run, error):
                return Finding(seconds=self._later(run.id))
            self._attempts.pop(run.id, None)
            message = f"Its agent could not be started: {words_of(error)}"
            return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.START_FAILED, message=message)
        self._attempts.pop(run.id, None)
        return self._started(run, handle, Reason.AGENT_STARTED, STARTED)

    def _started(self, run: Run, handle: str, reason: Reason, message: str) -> Finding:
        """An agent was just started: returns this message, or that of the engine's queue while the agent waits there."""
        if self._abilities(run).queues and isinstance(state := self._engine(run).status(handle), Waiting):
            return held(handle, state)
        return Finding(seconds=QUIET_SECONDS, reason=reason, message=message, handle=handle)

    def queued(self, run: Run, reason: Reason = Reason.AGENT_STARTED, message: str = STARTED) -> Finding | None:
        """Checks a run whose agent waited in the engine's queue; `message` is the run's once the agent has left the queue. None
        when the agent is gone."""
        state = AgentState.ALIVE if self._context.present.has(run.id) else self._state(run)
        if isinstance(state, Waiting):
            return held(run.handle, state)
        if state is AgentState.GONE:
            return None
        if state is AgentState.UNKNOWN:
            return Finding(seconds=LOOK_SECONDS)
        return Finding(seconds=QUIET_SECONDS, reason=reason, message=message, handle=run.handle)

    def agent(self, run: Run) -> Finding:
        """Checks a run whose agent should be alive."""
        if run.reason is Reason.WAITING_IN_QUEUE:
            return self.queued(run) or self._lost(run)
        if self._context.present.has(run.id) and run.status is RunStatus.RUNNING:
            return Finding(seconds=PRESENT_SECONDS)
        quiet = self._quiet(run)
        if quiet < QUIET_SECONDS:
            return Finding(seconds=QUIET_SECONDS - quiet + 0.1)
        state = self._state(run)
        if state is AgentState.GONE:
            return self._lost(run)
        if quiet > SILENT_SECONDS and run.status in (RunStatus.RUNNING, RunStatus.FINALIZING):
            there = "its process still exists" if state is AgentState.ALIVE else "its node cannot be asked about it"
            there = f"the one that saves its files waits: {state.why}" if isinstance(state, Waiting) else there
            message = f"Nothing was received from its agent for {quiet:.0f} s; {there}."
            return Finding(seconds=LOOK_SECONDS, to=RunStatus.NOT_RESPONDING, reason=Reason.SILENT, message=message)
        return Finding(seconds=LOOK_SECONDS)

    def cancelled(self, run: Run) -> Finding:
        """Checks a run that was asked to end, or that lost its node: its agent learns that by its heartbeat, and is stopped if it
        does not end in time."""
        quiet = self._quiet(run)
        if not run.handle and run.heard_at is None:
            if quiet < QUIET_SECONDS:
                return Finding(seconds=QUIET_SECONDS - quiet + 0.1)
            self._leave_queue(run)
            return self._end(run, "It was ended before its script started.")
        state = self._state(run)
        if isinstance(state, Waiting):
            self.stop(run, run.handle)
            return Finding(seconds=RETRY_SECONDS)
        if state is AgentState.GONE:
            gone = quiet >= QUIET_SECONDS or self._never_began(run)
            return self._lost(run) if gone else Finding(seconds=QUIET_SECONDS - quiet + 0.1)
        waited = self._asked_ago(run)
        if waited < CANCEL_SECONDS:
            return Finding(seconds=min(LOOK_SECONDS, CANCEL_SECONDS - waited))
        if state is AgentState.ALIVE:
            self.stop(run, run.handle)
        elif min(quiet, waited) >= SILENT_SECONDS:
            return self._end(
                run, f"Its node has not answered for {quiet:.0f} s; processes of the run may still exist there."
            )
        return Finding(seconds=LOOK_SECONDS)

    def _leave_queue(self, run: Run) -> None:
        """Removes from the queue an agent whose handle an earlier control plane lost: while the agent waits, a repeated start
        returns its handle."""
        try:
            if self._abilities(run).queues:
                self.stop(run, self._start(run, Errand.RUN))
        except RoostError as error:  # it runs and learns of its end by itself, or the engine cannot be asked
            log.info("whether run %s has an agent in a queue is not known: %s", run.id, error.message)

    def _asked_ago(self, run: Run) -> float:
        """Seconds since its agents were asked to end it."""
        told = [
            event.at
            for event in self._events(run)
            if event.to is RunStatus.CANCEL_REQUESTED
            or (run.ending and event.reason is run.ending and event.to is not RunStatus.QUEUED)
        ]
        return self._context.clock() - (told[-1] if run.ending and told else told[0] if told else self._up_since)

    def client(self, run: Run) -> Finding:
        """Checks an interactive run: its process is the user's own, so no engine can be asked."""
        quiet = self._quiet(run)
        if run.status is RunStatus.RUNNING and run.heard_at is not None and quiet > SILENT_SECONDS:
            message = f"Nothing was received from its process for {quiet:.0f} s."
            return Finding(seconds=SILENT_SECONDS, to=RunStatus.NOT_RESPONDING, reason=Reason.SILENT, message=message)
        return Finding(seconds=SILENT_SECONDS)

    def stop(self, run: Run, handle: str) -> None:
        if handle:
            self._engine(run).stop(handle)

    def _lost(self, run: Run) -> Finding:
        """No process of the agent is left: one salvage pass, and when that is lost too, the end."""
        run = self._context.store.runs.get(run.id)
        if not run.status.is_terminal and self._never_began(run):
            return self._end(run, "It left the queue of its engine before its agent started.")
        if run.status.is_terminal or self._quiet(run) < QUIET_SECONDS:
            return Finding(seconds=LOOK_SECONDS)  # its last report came after the run was leased
        if any(event.reason is Reason.AGENT_LOST for event in self._of_attempt(run)):
            return self._end(
                run, "Its agent ended unexpectedly, and so did the one that was started to save its files."
            )
        log.warning("the agent of run %s is gone; what it left is salvaged", run.id)
        try:
            handle = self._start(run, Errand.SALVAGE)
        except Conflict:
            return Finding(seconds=LOOK_SECONDS)  # a process still holds its folder
        except Exception as error:  # noqa: BLE001 no error of an engine may lose the run
            if self._may_pass(run, error):
                return Finding(seconds=self._later(run.id))
            return self._end(run, f"Its agent ended unexpectedly, and its files could not be saved: {words_of(error)}")
        message = "Its agent ended unexpectedly; its files are being saved."
        return Finding(seconds=QUIET_SECONDS, reason=Reason.AGENT_LOST, message=message, handle=handle)

    def _never_began(self, run: Run) -> bool:
        """True when its agent waited in the engine's queue and has sent nothing since: then there is nothing to salvage."""
        times = [event.at for event in self._of_attempt(run) if event.reason is Reason.WAITING_IN_QUEUE]
        return bool(times) and max(run.heard_at or 0.0, self._context.heard.get(run.id) or 0.0) < times[-1]

    def _end(self, run: Run, message: str) -> Finding:
        if run.status is RunStatus.CANCEL_REQUESTED:
            return Finding(seconds=0, to=RunStatus.CANCELED, reason=Reason.CANCELED_BY_USER, message=message)
        return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.AGENT_LOST, message=message)

    def _start(self, run: Run, errand: Errand, member: Member | None = None) -> str:
        token = people.mint_run_token(self._context, run.id, user=run.user)
        nodes = {node.id: node for node in self._context.store.computes.nodes_of(run.id)}
        own = nodes.get(member.node) if member else next(iter(nodes.values()), None)
        workspace = self._context.store.workspaces.get(run.workspace)
        compute, engine, abilities = self._place(run)
        shared = abilities.capacity.gpus if abilities.capacity else 0
        size = sizes.find(compute.vm_size) if compute.kind is ComputeKind.CLUSTER else None
        plan = Plan(
            run_id=run.id,
            workspace=workspace.name,
            subscription_id=workspace.subscription_id,
            resource_group=workspace.resource_group,
            experiment=run.experiment,
            spec=run.spec,
            errand=errand,
            lock=environments.lock_of(self._context, run) if errand is Errand.RUN else "",
            index_lock=environments.index_lock(self._context, run) if errand is Errand.BUILD else "",
            conda_packages=self._context.conda_packages,
            archive=errand is Errand.BUILD and archives.is_wanted(self._context, run),
            node_rank=member.node_rank if member else 0,
            attempt=run.attempt,
            preemptible=compute.priority is Priority.LOW,
            node=own.id if own else member.node if member else "",
            gpus=own.gpus if own else split_gpus(shared, run.spec.node_count, member.node_rank) if member else (),
            cores=size.cores if size else 0,
            memory=int(size.memory_gb * 2**30) if size else 0,
            address=own.address if own else member.address if member else LOOPBACK,
        )
        access = self._access(token)
        return engine.start(plan, access if abilities.shared_disk else replace(access, endpoint_file=""))

    def _place(self, run: Run) -> tuple[Compute, Engine, Abilities]:
        """Its target, the target's engine and the engine's abilities. Unavailable when one of them is missing now."""
        try:
            compute = self._context.store.computes.get(run.workspace, run.spec.target)
            return compute, self._engines[compute.engine], self._context.engines[compute.engine]
        except (ComputeNotFound, KeyError):
            words = f"Run {run.id} is on {run.spec.target!r}, which this control plane does not have now."
            raise Unavailable(words) from None

    def _abilities(self, run: Run) -> Abilities:
        return self._place(run)[2]

    def _engine(self, run: Run) -> Engine:
        return self._place(run)[1]

    def _state(self, run: Run) -> AgentState | Waiting:
        """GONE also for a run without a handle: the salvage that follows is refused if an agent exists after all."""
        return self._status(run, run.handle) if run.handle else AgentState.GONE

    def _status(self, run: Run, handle: str) -> AgentState | Waiting:
        """UNKNOWN also while the engine is missing, so that a cancel can still end its runs."""
        try:
            engine = self._engine(run)
        except Unavailable:
            return AgentState.UNKNOWN
        return engine.status(handle)

    def _quiet(self, run: Run) -> float:
        """Seconds since the run's last message or event; counts from the control plane's own start at the earliest."""
        if self._context.present.has(run.id):
            return 0.0
        heard = max(run.heard_at or 0.0, self._context.heard.get(run.id) or 0.0, self._up_since)
        if self._context.clock() - heard >= QUIET_SECONDS:
            heard = max(heard, self._events(run)[-1].at)
        return self._context.clock() - heard

    def _events(self, run: Run) -> list[RunEvent]:
        return list(self._context.store.runs.events(run.id))

    def _of_attempt(self, run: Run) -> list[RunEvent]:
        """The events since it was last queued."""
        events = self._events(run)
        queued = [place for place, event in enumerate(events) if event.to is RunStatus.QUEUED]
        return events[queued[-1] :] if queued else events

    def _may_pass(self, run: Run, error: Exception, key: str = "") -> bool:
        """True when a failed start is worth another try: not after a refusal."""
        passing = isinstance(error, Unavailable) or not isinstance(error, RoostError)
        key = key or run.id
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        log.warning("start %d of an agent for run %s failed: %s", attempts, run.id, words_of(error))
        return passing and attempts < START_ATTEMPTS

    def _later(self, key: str) -> float:
        return float(RETRY_SECONDS * 2 ** self._attempts.get(key, 0))


def held(handle: str, state: Waiting) -> Finding:
    """The queue's message becomes the run's, in any status."""
    return Finding(seconds=LOOK_SECONDS, reason=Reason.WAITING_IN_QUEUE, message=state.why, handle=handle)


def _seat(run: Run) -> str:
    return seat(run.id, 0, run.attempt)


def words_of(error: Exception) -> str:
    return error.message if isinstance(error, RoostError) else f"{type(error).__name__}: {error}"
