"""Controls runs: queues them, starts and watches their agents, salvages after a lost one.

Two nouns. `NewRuns` needs no engine, and moves runs to the queue one by one. In `RunsControl`, `act` asks the engine and returns
a Finding, and `apply` writes it. Between the two, `control/compute.py` hands out nodes. Everything that must outlive this process
is in the run's row and events, so a restarted control plane continues: a start that may have happened is repeated, and the node
refuses it if it had.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from roost.control.compute import ComputeControl
from roost.control.environments import first_step
from roost.control.gangs import GangWatch
from roost.control.loop import Part
from roost.control.watching import Finding
from roost.domain.errors import Conflict
from roost.domain.plans import Access
from roost.domain.runs import Reason, Run, RunKind, RunStatus
from roost.engines.base import Engine
from roost.services import runs
from roost.services.context import Context
from roost.store.base import NEW_RUNS, RUNS, Lease

log = logging.getLogger("roost.control")


class NewRuns:
    """Newly submitted runs: moved to the queue, or first to the build of their environment."""

    name = NEW_RUNS
    limit = 50
    """More runs wait for the next pass."""
    in_order = True
    """In order of submission, so that no run overtakes another on the way to the queue."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def load(self, keys: Sequence[str]) -> Mapping[str, Run]:
        found = self._context.store.runs.many(keys)
        return {run.id: run for run in found if run.status is RunStatus.NOT_STARTED}

    def act(self, run: Run) -> tuple[RunStatus, Reason, str]:
        return first_step(self._context, run)

    def apply(self, lease: Lease, run: Run, step: tuple[RunStatus, Reason, str]) -> None:
        try:
            runs.move(self._context, run.id, *step, lease=lease)
        except Conflict:
            if self._context.store.runs.get(run.id).status is RunStatus.NOT_STARTED:
                raise
            log.info("run %s moved on by itself", run.id)  # it was cancelled meanwhile


class RunsControl:
    """Runs that are being prepared or hold a node."""

    name = RUNS
    limit = 200
    in_order = False

    def __init__(self, context: Context, engines: Mapping[str, Engine], access: Callable[[str], Access]) -> None:
        """`engines` by name; `access` makes an agent's access from its token."""
        self._context = context
        self._watch = GangWatch(context, engines, access)

    def load(self, keys: Sequence[str]) -> Mapping[str, Run]:
        return {run.id: run for run in self._context.store.runs.many(keys) if _is_watched(run)}

    def act(self, run: Run) -> Finding:
        if run.spec.kind is RunKind.INTERACTIVE:
            return self._watch.client(run)
        if run.status is RunStatus.PREPARING:
            return self._watch.build(run)
        if run.spec.node_count > 1:
            return self._watch.gang(run)
        if run.status is RunStatus.CANCEL_REQUESTED or run.ending:
            return self._watch.cancelled(run)
        if run.status is RunStatus.PROVISIONING and not run.handle:
            return self._watch.begin(run)
        return self._watch.agent(run)

    def apply(self, lease: Lease, run: Run, finding: Finding) -> float | None:
        if finding.handle:
            self._remember(run, finding, lease)
        elif finding.to is not None:
            after, _ = runs.move(
                self._context, run.id, finding.to, finding.reason, finding.message, lease=lease, attempt=run.attempt
            )
            return finding.seconds if _is_watched(after) else None
        return finding.seconds

    def _remember(self, run: Run, finding: Finding, lease: Lease) -> None:
        """Writes an agent's handle into its run without changing its status: a fast agent may have moved it already."""
        for _ in range(10):
            now = runs.find(self._context, run.id)
            if now.status.is_terminal:
                # It was cancelled while its agent started, or the agent has ended it already and nothing is left to stop.
                self._watch.stop(now, finding.handle)
                return
            told = finding.reason is Reason.AGENT_LOST or now.status in (RunStatus.PROVISIONING, RunStatus.PREPARING)
            reason, message = (finding.reason, finding.message) if told else (now.reason, now.message)
            try:
                runs.move(
                    self._context,
                    run.id,
                    now.status,
                    reason,
                    message,
                    handle=finding.handle,
                    lease=lease,
                    attempt=run.attempt,
                )
                return
            except Conflict:
                if now.status is runs.find(self._context, run.id).status:
                    raise
        raise Conflict(f"Run {run.id} changes too fast to write down its agent's handle.")


def parts(context: Context, engines: Mapping[str, Engine], access: Callable[[str], Access]) -> Sequence[Part]:
    """The parts of a pass of the runs' loop. A run that was just queued gets its node, and its agent starts, in the same pass."""
    return NewRuns(context), ComputeControl(context).turn, RunsControl(context, engines, access)


def _is_watched(run: Run) -> bool:
    return run.status is RunStatus.PREPARING or run.status.holds_node
