"""Builds environments: one run's agent builds it, and all runs that need the same environment wait for that build.

The state is in the store (`environment_builds`), so a restarted control plane continues. A lost build agent is started once more;
a failed build fails the runs that waited for it, but no later run.
"""

import logging
import time

from roost.control.watching import LOOK_SECONDS, QUIET_SECONDS, Finding, Watch, held, words_of
from roost.domain.environments import Build
from roost.domain.errors import Conflict
from roost.domain.plans import Errand, seat
from roost.domain.runs import Reason, Run, RunStatus
from roost.engines.base import AgentState, Waiting
from roost.services import environments
from roost.services.context import Context

log = logging.getLogger("roost.control")

LEAVING_SECONDS = 0.01
LEAVING_LOOKS = 50
"""Checks of a build agent that has reported and is about to exit: worth waiting for, as nothing else reports its exit."""
AGAIN_SECONDS = 0.5
"""Between starts of a run whose build agent, with a handle lost by an earlier control plane, has not exited yet."""
_BUILDING = "Its environment is being built."
WAIT_SECONDS = 2.0
"""Between checks of runs that wait for another run's build; its end wakes them at once."""


def first_step(context: Context, run: Run) -> tuple[RunStatus, Reason, str]:
    """The first status of a new run: Queued, or Preparing when its environment must be built first."""
    environments.renew(context, run)
    standing = environments.standing(context, run)
    if standing is None or standing.lock:
        if standing is not None:
            environments.keep_lock(context, run, standing.lock)
        return RunStatus.QUEUED, Reason.WAITING_FOR_NODE, _waits_for_node(run)
    name = run.spec.environment.name if run.spec.environment else ""
    if run.spec.environment is not None and run.spec.environment.archive:
        return RunStatus.PREPARING, Reason.WAITING_FOR_ENVIRONMENT, f"The files of environment {name!r} are kept first."
    words = f"Its environment {name!r} has to be built first{_from_lock(run)}."
    return RunStatus.PREPARING, Reason.WAITING_FOR_ENVIRONMENT, words


def _waits_for_node(run: Run) -> str:
    return f"Waits for a node of {run.spec.target}{_from_lock(run)}."


def _from_lock(run: Run) -> str:
    kept = run.spec.environment is not None and run.spec.environment.lock
    return ", from the lock that it was submitted with: it is not resolved again" if kept else ""


def _to_queue(run: Run) -> Finding:
    return Finding(seconds=0, to=RunStatus.QUEUED, reason=Reason.WAITING_FOR_NODE, message=_waits_for_node(run))


class BuildWatch(Watch):
    """A Watch that also handles builds."""

    def begin(self, run: Run) -> Finding:
        """As for any run; but when its environment was just built, the process that holds its folder may be the build agent
        before its exit."""
        finding = super().begin(run)
        if seat(run.id, 0, run.attempt) in self._there and self._built_lately(run):
            self._there.discard(seat(run.id, 0, run.attempt))
            return Finding(seconds=AGAIN_SECONDS)
        return finding

    def _built_lately(self, run: Run) -> bool:
        events = self._events(run)
        queued = [event.at for event in events if event.to is RunStatus.QUEUED]
        was_built = any(event.to is RunStatus.PREPARING for event in events)
        return was_built and bool(queued) and self._context.clock() - queued[-1] < QUIET_SECONDS

    def build(self, run: Run) -> Finding:
        """Checks a run that is Preparing."""
        standing = environments.standing(self._context, run)
        if standing is None:
            return _to_queue(run)
        if standing.lock:
            return self._known(run, standing.lock)
        if standing.builder != run.id:
            if standing.message and standing.failed_at > self._since(run):
                return _failed(standing)
            standing = environments.claim(self._context, run, standing)
            if standing.lock:
                return Finding(seconds=0)
            if standing.builder != run.id:
                return _waits(standing)
        if not run.handle:
            return self._begin_build(run)
        if run.reason is Reason.WAITING_IN_QUEUE:
            finding = self.queued(run, Reason.BUILDING_ENVIRONMENT, _BUILDING)
            return finding or (self._lost(run) if self._never_began(run) else self._build_lost(run))
        quiet = self._quiet(run)
        if quiet < QUIET_SECONDS:
            return Finding(seconds=QUIET_SECONDS - quiet + 0.1)
        state = self._state(run)
        if isinstance(state, Waiting):  # the second agent, which replaces a lost one
            return held(run.handle, state)
        return self._build_lost(run) if state is AgentState.GONE else Finding(seconds=LOOK_SECONDS)

    def _known(self, run: Run, lock: str) -> Finding:
        """The lock exists: moves the run to the queue, once the agent that built it has left the run's folder."""
        looks = 0
        while run.handle and self._state(run) is AgentState.ALIVE:
            looks += 1
            if looks > LEAVING_LOOKS:
                if self._quiet(run) > QUIET_SECONDS:
                    self.stop(run, run.handle)
                return Finding(seconds=LOOK_SECONDS)
            time.sleep(LEAVING_SECONDS)
        if run.reason is Reason.WAITING_IN_QUEUE:
            self.stop(run, run.handle)  # the lock came from elsewhere before the engine's queue started its agent
        environments.keep_lock(self._context, run, lock)
        return _to_queue(run)

    def _begin_build(self, run: Run, reason: Reason = Reason.BUILDING_ENVIRONMENT) -> Finding:
        try:
            handle = self._start(run, Errand.BUILD)
        except Conflict:
            return Finding(seconds=LOOK_SECONDS)  # an agent of an earlier control plane is building
        except Exception as error:  # noqa: BLE001 no error of an engine may lose the run
            if self._may_pass(run, error):
                return Finding(seconds=self._later(run.id))
            self._attempts.pop(run.id, None)
            message = f"Its build agent could not be started: {words_of(error)}"
            return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.START_FAILED, message=message)
        self._attempts.pop(run.id, None)
        if reason is Reason.BUILD_LOST:  # `_build_lost` looks for this event, so a queue's message must not replace it
            message = "Its environment is being built again: its build agent was lost."
            return Finding(seconds=QUIET_SECONDS, reason=reason, message=message, handle=handle)
        return self._started(run, handle, reason, _BUILDING)

    def _build_lost(self, run: Run) -> Finding:
        if any(event.reason is Reason.BUILD_LOST for event in self._events(run)):
            return self._lost(run)
        log.warning("the build agent of run %s is gone; its environment is built again", run.id)
        return self._begin_build(run, Reason.BUILD_LOST)

    def _since(self, run: Run) -> float:
        """When it began to wait for its environment."""
        return next((event.at for event in self._events(run) if event.to is RunStatus.PREPARING), run.created_at)


def _waits(standing: Build) -> Finding:
    message = (
        f"Waits for its environment, which is built for run {standing.builder}."
        if standing.builder
        else f"Waits for other environments to be built; at most {environments.BUILDS_AT_ONCE} are built at once."
    )
    reason = Reason.WAITING_FOR_BUILD
    return Finding(seconds=WAIT_SECONDS, to=RunStatus.PREPARING, reason=reason, message=message)


def _failed(standing: Build) -> Finding:
    return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.ENVIRONMENT_FAILED, message=standing.message)
