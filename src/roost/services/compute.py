"""Compute targets: made, changed, read, deleted; and why a run waits for one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roost.domain import names
from roost.domain.compute import (
    HOST_TAG,
    Compute,
    ComputeKind,
    ComputeSpec,
    ComputeStatus,
    Node,
    Priority,
    check,
    wanted,
)
from roost.domain.errors import ComputeNotFound, Conflict, InvalidCompute
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import Reason, Run, RunEvent, RunStatus
from roost.services import submissions
from roost.services.context import Context
from roost.services.signals import CONTROL, compute_topic, run_topic
from roost.store.base import RUNS, Load, RunQuery

_TRIES = 10
_MOST_HELD = 10_000
"""The most runs that are counted in an engine's queue."""


@dataclass(frozen=True, kw_only=True)
class ComputeChanges:
    """Changes to a cluster; a field that is left out changes nothing."""

    min_nodes: int | None = None
    max_nodes: int | None = None
    idle_seconds: float | None = None
    tags: Mapping[str, str] | None = None
    description: str | None = None


def create(context: Context, caller: Caller, workspace: str, name: str, spec: ComputeSpec) -> tuple[Compute, bool]:
    """Returns the cluster and True when it is new. A request that is sent twice makes one cluster."""
    caller.require(Action.COMPUTE_CREATE)
    context.store.workspaces.get(names.workspace(workspace))
    names.compute(name)
    _check(spec)
    engine = spec.engine or _engine_for(context, spec)
    if HOST_TAG in spec.tags:
        _check_host(context, engine, spec)
    if engine not in context.engines:
        raise InvalidCompute(
            f"Roost has no engine {engine!r}.",
            hint=f"The engines that can be attached are: {', '.join(context.engines)}. One of another package is named in "
            "ROOST_ENGINES before the control plane starts.",
        )
    _check_hosts(context, engine, spec.max_nodes)
    now = context.clock()
    compute, new = context.store.computes.create(
        Compute(
            workspace=workspace,
            name=name,
            engine=engine,
            kind=ComputeKind.CLUSTER,
            vm_size=spec.vm_size,
            priority=spec.priority,
            min_nodes=spec.min_nodes,
            max_nodes=spec.max_nodes,
            idle_seconds=spec.idle_seconds,
            tags=dict(spec.tags),
            description=spec.description,
            user=caller.user,
            created_at=now,
            modified_at=now,
            scaled_at=now,
        )
    )
    _ring(context, compute)
    return compute, new


def _find(context: Context, workspace: str, name: str) -> Compute:
    context.store.workspaces.get(names.workspace(workspace))
    return context.store.computes.get(workspace, name)


def status(context: Context, caller: Caller, workspace: str, name: str) -> ComputeStatus:
    caller.require(Action.COMPUTE_READ)
    return _status(context, _find(context, workspace, name))


def listing(context: Context, caller: Caller, workspace: str) -> Sequence[ComputeStatus]:
    """The workspace's clusters, and `local`."""
    caller.require(Action.COMPUTE_READ)
    context.store.workspaces.get(names.workspace(workspace))
    return [_status(context, compute) for compute in context.store.computes.list(workspace)]


def update(context: Context, caller: Caller, workspace: str, name: str, changes: ComputeChanges) -> Compute:
    """Busy nodes beyond a lowered limit leave when their runs have ended."""
    caller.require(Action.COMPUTE_CHANGE)
    before = _cluster(_find(context, workspace, name), "changed")
    given = {key: value for key, value in vars(changes).items() if value is not None}
    after = replace(before, **given, modified_at=context.clock())
    _check(
        ComputeSpec(
            max_nodes=after.max_nodes,
            min_nodes=after.min_nodes,
            idle_seconds=after.idle_seconds,
            tags=after.tags,
            description=after.description,
        )
    )
    _check_hosts(context, after.engine, after.max_nodes)
    compute = context.store.computes.update(after)
    _ring(context, compute)
    return compute


def delete(context: Context, caller: Caller, workspace: str, name: str) -> None:
    """Refused while a run on it has not ended; its nodes are deleted too. Does nothing when there is no such cluster."""
    caller.require(Action.COMPUTE_DELETE)
    try:
        compute = _cluster(_find(context, workspace, name), "deleted")
    except ComputeNotFound:
        return
    context.store.computes.delete(compute.workspace, compute.name)
    _ring(context, compute)


def preempt(context: Context, caller: Caller, workspace: str, name: str, node_id: str) -> Node:
    """Takes a low-priority node away, as a cloud does when it needs the machine. Its run ends on all its nodes, keeps its files,
    and is queued again; it continues with its outputs on other nodes."""
    caller.require(Action.COMPUTE_PREEMPT)
    compute = _cluster(_find(context, workspace, name), "taken nodes from")
    if compute.priority is not Priority.LOW:
        raise InvalidCompute(
            f"The nodes of cluster {name!r} are dedicated: nobody takes them away.",
            hint="Make a cluster with vm_priority='lowpriority'.",
            cli_hint="Make a cluster with --priority lowpriority.",
        )
    node = context.store.computes.preempt(compute, node_id, at=context.clock())
    if node.run_id:
        _take_from(context, node)
    _ring(context, compute)
    return node


def _take_from(context: Context, node: Node) -> None:
    """The run's agents receive it in the same way as a cancel."""
    for _ in range(_TRIES):
        run = context.store.runs.get(node.run_id)
        if not run.status.holds_node or run.status is RunStatus.CANCEL_REQUESTED or run.ending:
            return
        words = f"Node {node.id} was taken away; it is ended there, and begins again on other nodes."
        event = RunEvent(to=run.status, at=context.clock(), reason=Reason.PREEMPTED, message=words)
        try:
            context.store.runs.apply(run.id, event)
        except Conflict:  # its status changed meanwhile
            continue
        context.store.leases.touch(RUNS, run.id)
        context.signals.notify(run_topic(run.id))
        return


def why_queued(context: Context, run: Run) -> str:
    """A sentence for people: why a queued run has no node yet."""
    target = run.spec.target
    compute = context.store.computes.get(run.workspace, target)
    queue, running = context.store.computes.queue(compute)
    engine = context.engines.get(compute.engine)
    if engine is not None and engine.queues:
        return f"It is about to be put into the queue of engine {compute.engine}."
    ahead = queue.index(run.id) if run.id in queue else 0
    words = "No run is" if not ahead else "1 run is" if ahead == 1 else f"{ahead} runs are"
    look = "`roost run list --status Running` shows what runs."
    if compute.kind is ComputeKind.LOCAL:
        if not ahead + running:
            return f"It is next on {target}, which runs {compute.max_nodes} at once."
        total = ahead + running
        count = "1 run is" if total == 1 else f"{total} runs are"
        return f"{count} ahead of it on {target}, which runs {compute.max_nodes} at once. {look}"
    if run.spec.node_count > compute.max_nodes:
        return (
            f"It asks for {run.spec.node_count} nodes, and cluster {target} has at most {compute.max_nodes} now; other "
            "runs go first until its limit is raised."
        )
    load = context.store.computes.load(compute)
    nodes, busy = len(load.nodes), _busy(load)
    towards = wanted(compute, busy, load.asked)
    if towards > nodes:
        return f"Cluster {target} is scaling from {nodes} to {towards} nodes; {words.lower()} ahead of it."
    if run.spec.node_count > 1 and not ahead and busy < compute.max_nodes:
        free = compute.max_nodes - busy
        return (
            f"It is next on cluster {target} and waits for {run.spec.node_count} nodes at once; {free} of "
            f"{compute.max_nodes} are free, and nobody overtakes it."
        )
    if busy >= compute.max_nodes:
        taken = (
            f"All {compute.max_nodes} nodes of cluster {target} are"
            if compute.max_nodes > 1
            else f"The node of cluster {target} is"
        )
        return f"{taken} taken; {words.lower()} ahead of it. {look}"
    return f"{words} ahead of it on cluster {target}, which has {nodes} of at most {compute.max_nodes} nodes."


def _status(context: Context, compute: Compute) -> ComputeStatus:
    load, engine = context.store.computes.load(compute), context.engines.get(compute.engine)
    makes_nodes, held = compute.kind is ComputeKind.CLUSTER, 0
    running = len(load.held) if makes_nodes else context.store.runs.holding(compute.name)
    if engine is not None and engine.queues:
        makes_nodes, held = False, _held(context, compute)
        running = context.store.computes.queue(compute)[1] - held
    return ComputeStatus(
        compute=compute,
        nodes=load.nodes,
        queued=load.waiting + held,
        running=running,
        wanted=wanted(compute, _busy(load), load.asked) if makes_nodes else 0,
        machine=(engine and engine.capacity) or context.machine,
    )


def _held(context: Context, compute: Compute) -> int:
    """The number of runs that wait in the engine's queue."""
    query = RunQuery(
        workspace=compute.workspace, status=(RunStatus.PROVISIONING,), include_children=True, limit=_MOST_HELD
    )
    runs = context.store.runs.list(query)
    return sum(run.spec.target == compute.name and run.reason is Reason.WAITING_IN_QUEUE for run in runs)


def _busy(load: Load) -> int:
    """The number of nodes that have a run."""
    return sum(node.run_id in load.held for node in load.nodes)


def _check(spec: ComputeSpec) -> None:
    check(spec)
    submissions.check_labels(spec.tags, {})


def _engine_for(context: Context, spec: ComputeSpec) -> str:
    """The engine for a cluster that names none: the engine that has its host, else the control plane's own."""
    host = spec.tags.get(HOST_TAG)
    return next((name for name, engine in context.engines.items() if host in engine.hosts), context.engine)


def _hosts(context: Context, engine: str) -> tuple[str, ...]:
    return context.engines[engine].hosts if engine in context.engines else ()


def _check_host(context: Context, engine: str, spec: ComputeSpec) -> None:
    """Checks that the host of a one-host target exists."""
    if spec.max_nodes != 1:
        raise InvalidCompute(f"A target of one host has one node, got max_nodes={spec.max_nodes}.")
    if spec.tags[HOST_TAG] not in _hosts(context, engine):
        raise ComputeNotFound(
            f"The control plane's file of hosts does not have {spec.tags[HOST_TAG]!r}.",
            hint="Add it there (docs/guides/compute.md), and start the control plane again: roost down; roost up.",
        )


def _check_hosts(context: Context, engine: str, max_nodes: int) -> None:
    """Checks that a cluster has no more nodes than its engine has hosts, if the nodes are hosts."""
    hosts = _hosts(context, engine)
    if hosts and max_nodes > len(hosts):
        raise InvalidCompute(
            f"The engine {engine!r} has {len(hosts)} host{'s' if len(hosts) != 1 else ''}, and the cluster is to have up to "
            f"{max_nodes} nodes.",
            hint="Lower max_nodes, or add hosts to the control plane's file of hosts.",
            cli_hint="Lower --max, or add hosts to the control plane's file of hosts.",
        )


def _cluster(compute: Compute, deed: str) -> Compute:
    if compute.kind is not ComputeKind.CLUSTER:
        raise InvalidCompute(
            f"{compute.name!r} is the control plane's own machine; it cannot be {deed}.",
            hint="Its limit is the setting ROOST_LOCAL_SLOTS.",
        )
    return compute


def _ring(context: Context, compute: Compute) -> None:
    context.signals.notify(CONTROL, compute_topic(compute.workspace, compute.name))
