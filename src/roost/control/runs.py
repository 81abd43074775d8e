"""The patience a run needs: queued, given a node, started, watched, salvaged when its agent is lost.

`load` moves what needs no engine and leases the rest; `act` asks the engine and returns a Finding; `apply` writes it.
All that must outlive this process stands in the run's row and events, so a restarted control plane goes on where it was:
a start that may or may not have happened is tried again, and refused by the node if it had.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from roost.control.compute import ComputeControl
from roost.control.environments import first_step
from roost.control.gangs import GangWatch
from roost.control.loop import LEASE_SECONDS
from roost.control.watching import Finding
from roost.domain.errors import Conflict
from roost.domain.plans import Access
from roost.domain.runs import Reason, Run, RunKind, RunStatus
from roost.engines.base import Engine
from roost.services import runs
from roost.services.house import House
from roost.services.signals import CONTROL
from roost.store.base import Lease

log = logging.getLogger("roost.control")

WATCHED = (
    RunStatus.PREPARING,
    RunStatus.PROVISIONING,
    RunStatus.RUNNING,
    RunStatus.FINALIZING,
    RunStatus.CANCEL_REQUESTED,
    RunStatus.NOT_RESPONDING,
)
AT_ONCE = 200
"""Runs leased in one look."""
NEW_AT_ONCE = 50
"""New runs that are queued in one look: others wait for the rest of it."""
CLIENT_SECONDS = 60.0
"""Between looks at an interactive run."""


class RunsControl:
    def __init__(self, house: House, engines: Mapping[str, Engine], access: Callable[[str], Access]) -> None:
        """`engines` by name; `access` makes an agent's access from its token."""
        self._house = house
        self._compute = ComputeControl(house)
        self._watch = GangWatch(house, engines, access)

    def key(self, work: Lease) -> str:
        return work.run.id

    def load(self) -> Sequence[Lease]:
        self._queue_new()
        self._compute.turn()
        now = self._house.clock()
        return self._house.store.runs.lease(statuses=WATCHED, at=now, seconds=LEASE_SECONDS, limit=AT_ONCE)

    def _queue_new(self) -> None:
        """In the order of submission, so that nobody is overtaken on the way into the queue."""
        house, now = self._house, self._house.clock()
        new = house.store.runs.lease(
            statuses=(RunStatus.NOT_STARTED,), at=now, seconds=LEASE_SECONDS, limit=NEW_AT_ONCE
        )
        for lease in sorted(new, key=lambda each: each.run.created_at):
            if lease.run.spec.kind is RunKind.INTERACTIVE:
                self.release(lease, CLIENT_SECONDS)
                continue
            try:
                runs.move(house, lease.run.id, *first_step(house, lease.run), lease=lease.token)
            except Conflict:  # it was cancelled just now
                log.info("run %s moved on by itself", lease.run.id)
            self.release(lease, 0)
        if len(new) == NEW_AT_ONCE:
            house.signals.ring(CONTROL)

    def act(self, work: Lease) -> Finding:
        run = work.run
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

    def apply(self, work: Lease, outcome: Finding) -> float:
        run, finding = work.run, outcome
        if finding.handle:
            self._remember(run, finding, work.token)
        elif finding.to is not None:
            runs.move(
                self._house, run.id, finding.to, finding.reason, finding.message, lease=work.token, attempt=run.attempt
            )
        return finding.seconds

    def _remember(self, run: Run, finding: Finding, lease: str) -> None:
        """Writes an agent's handle into its run, wherever the run stands by now: a fast agent has moved it already."""
        for _ in range(10):
            now = runs.find(self._house, run.id)
            if now.status.is_terminal:
                # Cancelled while its agent was started, or ended by it already: then there is nothing left to stop.
                self._watch.stop(now, finding.handle)
                return
            told = finding.reason is Reason.AGENT_LOST or now.status in (RunStatus.PROVISIONING, RunStatus.PREPARING)
            reason, message = (finding.reason, finding.message) if told else (now.reason, now.message)
            try:
                runs.move(
                    self._house,
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
                if now.status is runs.find(self._house, run.id).status:
                    raise
        raise Conflict(f"Run {run.id} changes too fast to write down its agent's handle.")

    def renew(self, work: Lease) -> None:
        until = self._house.clock() + LEASE_SECONDS
        if not self._house.store.runs.renew(work.run.id, work.token, until=until):
            log.warning("the lease on run %s was lost while it was worked on", work.run.id)

    def release(self, work: Lease, seconds: float) -> None:
        self._house.store.runs.release(work.run.id, work.token, due_at=self._house.clock() + seconds)
