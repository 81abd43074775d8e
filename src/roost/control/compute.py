"""Scales clusters and hands out nodes: nodes are added when runs wait and removed when idle; each run whose turn it is gets all
its nodes at once. An engine with a queue of its own gets every run instead.

The runs' loop calls it between queueing and watching, so that a run which was just queued gets its node in the same pass. Every
decision is one transaction on the stored state; what is held in memory here may be lost, so a restarted control plane continues.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from roost.domain.compute import HOST_TAG, Adjustment, Compute, ComputeKind, Node, adjust
from roost.domain.errors import Conflict, NotFound
from roost.domain.runs import Reason, Run, RunEvent, RunStatus
from roost.engines.base import Abilities
from roost.services.context import Context
from roost.services.signals import CONTROL, compute_topic, run_topic
from roost.store.base import Load

log = logging.getLogger("roost.control")

LEAST_STARTS, STARTS_A_CORE = 8, 2
"""Runs that start on this machine at once: hundreds would take every processor, and start no sooner."""
START_SECONDS = 10.0
"""A run that takes longer waits for something, such as its data, and no longer delays others."""


class ComputeControl:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._starts = max(LEAST_STARTS, STARTS_A_CORE * context.machine.cores)
        self._starting: dict[str, float] = {}
        """Runs that recently got a place on this machine, with the time; lost with this process, which does no harm."""

    def turn(self) -> None:
        """Gives a place to every run that can have one, and brings every cluster to its size."""
        for compute in self._context.store.computes.list():
            engine = self._context.engines.get(compute.engine)
            if compute.kind is ComputeKind.LOCAL:
                self._fill(compute)
            elif engine is None:  # its runs wait while the engine is missing
                continue
            elif engine.queues:
                self._hand_over(compute)
            else:
                self._scale(compute, engine)

    def _hand_over(self, compute: Compute) -> None:
        """Gives every queued run to its engine, whose own queue decides when it starts."""
        context = self._context
        queued, _ = context.store.computes.queue(compute)
        for run_id in queued:
            event = _given(f"Was given to engine {compute.engine}, which has a queue of its own.", context.clock())
            try:
                context.store.runs.apply(run_id, event)
            except (Conflict, NotFound):  # it was cancelled or deleted since it was listed
                continue
            context.signals.notify(run_topic(run_id))

    def _fill(self, compute: Compute) -> None:
        """Gives places to the oldest runs first, as long as there is room."""
        context = self._context

        def given(run: Run) -> RunEvent:
            count = run.spec.node_count
            what = "a place" if count == 1 else f"{count} places"
            return _given(f"Was given {what} on {run.spec.target}.", context.clock())

        while self._may_start() and (run := context.store.runs.claim(compute.name, compute.max_nodes, event=given)):
            self._starting[run.id] = context.clock()
            context.signals.notify(run_topic(run.id))

    def _may_start(self) -> bool:
        """True when few enough of the runs with a place are still starting. A run that has started wakes the loop."""
        if len(self._starting) >= self._starts:
            since = self._context.clock() - START_SECONDS
            self._starting = {
                run_id: at for run_id, at in self._starting.items() if at > since and self._is_starting(run_id)
            }
        return len(self._starting) < self._starts

    def _is_starting(self, run_id: str) -> bool:
        try:
            return self._context.store.runs.get(run_id).status is RunStatus.PROVISIONING
        except NotFound:
            return False

    def _scale(self, compute: Compute, engine: Abilities) -> None:
        store, now = self._context.store.computes, self._context.clock()

        def decide(current: Compute, load: Load) -> Adjustment:
            change = adjust(current, load.nodes, load.held, load.asked, now)
            if not change.add:
                return change
            if engine.hosts:
                return replace(change, add=min(change.add, len(free)), addresses=hosts)
            return replace(change, gpus=engine.capacity.gpus if engine.capacity else 0)

        hosts = tuple(host for host in engine.hosts if host == compute.tags.get(HOST_TAG, host))
        free = set(hosts) - store.addresses() if hosts else set()
        load = store.load(compute, most=compute.max_nodes)
        # Most passes change nothing, so this reads first and does not wait for the store's writer.
        change = decide(compute, load)
        changed = bool(change) and store.adjust(compute, decide, at=now)
        if change.add or change.remove:
            log.info("cluster %s: %d nodes come, %d go", compute.name, change.add, len(change.remove))
        if load.waiting:
            changed = bool(self._hand_out(compute)) or changed
        if changed:
            # Nodes that were added are ready in the next pass.
            self._context.signals.notify(CONTROL, compute_topic(compute.workspace, compute.name))

    def _hand_out(self, compute: Compute) -> Sequence[Run]:
        """Gives idle nodes to the runs whose turn it is."""
        context = self._context
        handed = []

        def given(run: Run, nodes: Sequence[Node]) -> RunEvent:
            what = "node" if len(nodes) == 1 else "nodes"
            words = f"Was given {what} {', '.join(node.id for node in nodes)} of {run.spec.target}."
            return _given(words, context.clock())

        while found := context.store.computes.claim(compute, at=context.clock(), event=given):
            run, _ = found
            handed.append(run)
            context.signals.notify(run_topic(run.id))
        return handed


def _given(message: str, at: float) -> RunEvent:
    return RunEvent(to=RunStatus.PROVISIONING, at=at, reason=Reason.NODE_GIVEN, message=message)
