"""`roost compute …`: list, show, nodes, create, update, preempt, delete."""

import contextlib
import sys
from collections.abc import Sequence

import typer

from roost.cli import rendering, session
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain import codec
from roost.domain.compute import ComputeKind, ComputeStatus, Node, NodeState, Priority
from roost.domain.errors import InvalidCompute
from roost.domain.sizes import mapping
from roost.sdk.compute.settings import AmlComputeProvisioningConfiguration
from roost.sdk.compute.targets import AmlCompute, ComputeTarget
from roost.transport.client import path_of

_NAME = typer.Argument(help="A compute target's name.", metavar="NAME")


def listing(as_json: bool = AS_JSON) -> None:
    """List this machine (`local`) and the clusters of the workspace."""
    ws = session.workspace()
    answer = ws._connection.client.call("GET", path_of("workspaces", ws.name, "computes"))
    found = [codec.decode(ComputeStatus, item) for item in answer["computes"]]
    if as_json:
        rendering.as_json(codec.encode(found))
        return
    rows = [
        (
            each.compute.name,
            each.compute.kind.value,
            _scale(each),
            str(each.running),
            str(each.queued),
            each.compute.vm_size,
            each.compute.engine,
        )
        for each in found
    ]
    rendering.table(
        ("compute", "kind", "nodes", "running", "queued", "size", "engine"), rows, drop=("engine", "size", "kind")
    )


def show(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Show a compute target: its settings, its nodes and what waits for it."""
    status = _find(name)._status
    if as_json:
        _json(status)
        return
    compute = status.compute
    print(f"Compute {compute.name}, {compute.kind.value} on engine {compute.engine}")
    if compute.kind is ComputeKind.CLUSTER:
        print(f"  nodes        {_scale(status)}, {_counts(status.nodes)}")
        print(f"  idle nodes   go after {rendering.duration(compute.idle_seconds)}")
        if compute.vm_size:
            print(f"  size         {mapping(compute.vm_size, status.machine)}")
        print(f"  priority     {compute.priority.value}")
        print(f"  made         {rendering.ago(compute.created_at)} by {compute.user}")
    else:
        print(f"  at once      {rendering.count(compute.max_nodes, 'run')}")
    print(f"  runs         {status.running} running, {status.queued} queued")
    for key, value in sorted(compute.tags.items()):
        print(f"  tag          {key} = {value}")
    if compute.description:
        print(f"  description  {compute.description}")


def nodes(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """List a cluster's nodes, and the run on each."""
    found = _find(name)._status.nodes
    if as_json:
        rendering.as_json(codec.encode(found))
    elif found:
        rows = [(node.id, node.state.value, rendering.ago(node.since), node.address, node.run_id) for node in found]
        rendering.table(("node", "state", "since", "address", "run"), rows, drop=("address", "since"))
    else:
        print(f"{name} has no nodes now; they come when runs wait for them.")


def create(
    name: str = _NAME,
    max_nodes: int = typer.Option(4, "--max", help="How many nodes at most."),
    min_nodes: int = typer.Option(0, "--min", help="How many stay, also when idle."),
    idle: float = typer.Option(1800, help="Seconds after which an idle node goes."),
    size: str = typer.Option("", help="An Azure size; on this machine a wish.", metavar="VM_SIZE"),
    priority: Priority = typer.Option(Priority.DEDICATED, help="Whether its nodes may be taken away."),
    engine: str = typer.Option("", help="What it runs on; the control plane's own choice by default."),
    tag: list[str] = typer.Option([], "--tag", "-t", help="k=v; repeated."),
    description: str = typer.Option("", help="Words for people."),
    as_json: bool = AS_JSON,
) -> None:
    """Make a cluster whose nodes come on demand. The same again finds it there."""
    asked = AmlComputeProvisioningConfiguration(
        vm_size=size,
        vm_priority=priority.value,
        min_nodes=min_nodes,
        max_nodes=max_nodes,
        idle_seconds_before_scaledown=idle,
        tags={key: value or "" for key, value in parsing.tags(tag).items()},
        description=description,
        engine=engine,
    )
    asked.vm_size = size
    ws = session.workspace()
    with contextlib.redirect_stdout(sys.stderr):  # what it says is not part of a command's output
        made = ComputeTarget.create(ws, name, asked)
    _told(made, as_json, "is there")


def update(
    name: str = _NAME,
    max_nodes: int | None = typer.Option(None, "--max", help="How many nodes at most."),
    min_nodes: int | None = typer.Option(None, "--min", help="How many stay, also when idle."),
    idle: float | None = typer.Option(None, help="Seconds after which an idle node goes."),
    as_json: bool = AS_JSON,
) -> None:
    """Change a cluster's scale; busy nodes beyond a lowered limit finish their runs first."""
    if max_nodes is None and min_nodes is None and idle is None:
        raise InvalidCompute("There is nothing to change.", hint="Give --max, --min or --idle.")
    target = _cluster(name)
    target.update(min_nodes=min_nodes, max_nodes=max_nodes, idle_seconds_before_scaledown=idle)
    _told(target, as_json, "was changed")


def preempt(
    name: str = _NAME,
    node: str = typer.Argument(help="A node's name, as `roost compute nodes` lists it.", metavar="NODE"),
    as_json: bool = AS_JSON,
) -> None:
    """Take a node of low priority away, as a cloud would. Its run waits again, and goes on with its outputs."""
    target = _cluster(name)
    target.preempt(node)
    if as_json:
        _json(target._status)
    else:
        print(f"Node {node} was taken away; what ran on it waits for other nodes.")


def delete(name: str = _NAME, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Delete a cluster, after a yes. Refused while runs on it have not ended."""
    target = _cluster(name)
    nodes = target._status.nodes
    there = f" with its {rendering.count(len(nodes), 'node')}" if nodes else ""
    prompts.confirm(f"Cluster {name}{there} will be deleted; its runs stay.", yes)
    target.delete()
    if as_json:
        rendering.as_json({"deleted": name})
    else:
        print(f"Cluster {name} was deleted.")


def _find(name: str) -> ComputeTarget:
    return ComputeTarget(session.workspace(), name)


def _cluster(name: str) -> AmlCompute:
    target = _find(name)
    if not isinstance(target, AmlCompute):
        raise InvalidCompute(
            f"{name!r} is this machine, no cluster.",
            hint="Its limit is the setting ROOST_LOCAL_SLOTS of the control plane.",
        )
    return target


def _told(target: ComputeTarget, as_json: bool, deed: str) -> None:
    if as_json:
        _json(target._status)
        return
    compute = target._status.compute
    print(f"Cluster {compute.name} {deed}: {compute.min_nodes} to {compute.max_nodes} nodes.")
    print(f"Run on it: roost submit --target {compute.name} SCRIPT")


def _json(status: ComputeStatus) -> None:
    rendering.as_json(codec.encode(status))


def _scale(status: ComputeStatus) -> str:
    compute = status.compute
    if compute.kind is ComputeKind.LOCAL:
        return f"{status.running} of {compute.max_nodes}"
    there = len(status.nodes)
    moving = f" → {status.wanted}" if status.wanted > there else ""
    return f"{there}{moving} of {compute.min_nodes}-{compute.max_nodes}"


def _counts(found: Sequence[Node]) -> str:
    states = [node.state for node in found]
    words = [f"{states.count(state)} {state.value}" for state in NodeState if state in states]
    return ", ".join(words) or "none now"
