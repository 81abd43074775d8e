"""Compute: a named place where runs go. `local` is this machine with a limit; a cluster has nodes that start and stop.

`adjust` decides when nodes start and stop, `turns` in which order runs get nodes. Both are pure and use only what is in the
store.
"""

import heapq
import ipaddress
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from roost.domain.errors import InvalidCompute

LOCAL = "local"
MAX_NODES = 1000
MAX_IDLE_SECONDS = 30 * 86400.0
MAX_DESCRIPTION = 1000
_FIRST_ADDRESS = ipaddress.IPv4Address("127.0.2.1")
"""127.0.1.1 is left out: some machines use it for their own name."""


class ComputeKind(StrEnum):
    LOCAL = "local"
    """This machine: runs start in the order of submission, up to its limit at once. Every workspace has it."""
    CLUSTER = "cluster"
    """Nodes that start on demand and stop when idle; a run uses one or several. Belongs to one workspace."""


HOST_TAG = "roost.host"
"""Tag of a cluster whose only node is the host with that address."""


class Priority(StrEnum):
    DEDICATED = "dedicated"
    LOW = "lowpriority"
    """Nodes that can be taken away; their runs then start again on other nodes."""


class NodeState(StrEnum):
    PREPARING = "preparing"
    IDLE = "idle"
    RUNNING = "running"
    LEAVING = "leaving"
    """The node stops as soon as its run has ended."""
    PREEMPTED = "preempted"
    """The node was taken away: its run is ended there and waits again, then the node stops."""


@dataclass(frozen=True, kw_only=True)
class ComputeSpec:
    """A requested compute target."""

    max_nodes: int
    """The largest number of nodes at once; runs that need more wait."""
    min_nodes: int = 0
    """The number of nodes that stay, even when idle."""
    idle_seconds: float = 1800.0
    """A node that is idle for longer stops."""
    engine: str = ""
    """Name of an engine; empty for the engine of the host in HOST_TAG, else for the control plane's own choice."""
    vm_size: str = ""
    """Only a wish: on the embedded engine all nodes share the machine."""
    priority: Priority = Priority.DEDICATED
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Compute:
    """An existing compute target."""

    name: str
    engine: str
    max_nodes: int
    workspace: str = ""
    """Empty for `local`, which belongs to every workspace."""
    kind: ComputeKind = ComputeKind.LOCAL
    min_nodes: int = 0
    idle_seconds: float = 0.0
    vm_size: str = ""
    priority: Priority = Priority.DEDICATED
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    user: str = ""
    created_at: float = 0.0
    modified_at: float = 0.0
    """Time of the last change of its settings."""
    scaled_at: float = 0.0
    """Time when a node last started or stopped."""
    revision: int = 1
    """Increases with every change of the settings or of a node; long polls wait until it passes a value."""


@dataclass(frozen=True, kw_only=True)
class Node:
    id: str
    """`<cluster>-<number>`, never used again."""
    workspace: str
    compute: str
    address: str
    """The address of its host. A logical node has its own loopback address, so that runs on two nodes can use the same port."""
    state: NodeState
    since: float
    """Time when it entered this state."""
    run_id: str = ""
    gpus: tuple[int, ...] = ()
    """Indexes of the machine's GPUs that its runs see; empty for none."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The hardware that all nodes of an embedded engine share."""

    cores: int
    memory_gb: float
    gpus: int


@dataclass(frozen=True, kw_only=True)
class ComputeStatus:
    """A compute target at one moment."""

    compute: Compute
    nodes: tuple[Node, ...]
    queued: int
    """Runs that wait for nodes."""
    running: int
    """Runs that have their nodes."""
    wanted: int
    """The number of nodes that the cluster should have now."""
    machine: Machine


@dataclass(frozen=True, kw_only=True)
class Adjustment:
    """The changes to a cluster's nodes."""

    states: Mapping[str, NodeState] = field(default_factory=dict)
    """New states by node; a node that becomes idle has no run."""
    remove: tuple[str, ...] = ()
    add: int = 0
    gpus: int = 0
    """Number of GPUs of the new nodes' machine; each node gets a share."""
    addresses: tuple[str, ...] | None = None
    """Hosts that can become new nodes, one node each; None where nodes are logical and get a loopback address each."""

    def __bool__(self) -> bool:
        return bool(self.states or self.remove or self.add)


def check(spec: ComputeSpec) -> None:
    """Raises InvalidCompute with the broken rule and the value."""
    if not 1 <= spec.max_nodes <= MAX_NODES:
        raise InvalidCompute(
            f"A cluster has at most 1 to {MAX_NODES} nodes, got {spec.max_nodes}.",
            hint=f"Give max_nodes=1 to {MAX_NODES}.",
            cli_hint=f"Give --max 1 to {MAX_NODES}.",
        )
    if not 0 <= spec.min_nodes <= spec.max_nodes:
        raise InvalidCompute(
            f"The nodes that stay when idle must be 0 to {spec.max_nodes}, the most there may be; got {spec.min_nodes}.",
            hint="Lower min_nodes or raise max_nodes.",
            cli_hint="Lower --min or raise --max.",
        )
    if not 0 <= spec.idle_seconds <= MAX_IDLE_SECONDS:
        raise InvalidCompute(
            f"Idle nodes go after 0 to {MAX_IDLE_SECONDS:.0f} seconds, got {spec.idle_seconds:g}.",
            hint="Give another idle_seconds_before_scaledown.",
            cli_hint="Give another --idle.",
        )
    if len(spec.description) > MAX_DESCRIPTION:
        raise InvalidCompute(
            f"The description has {len(spec.description)} characters; at most {MAX_DESCRIPTION} are kept."
        )
    if len(spec.vm_size) > 100 or (not spec.vm_size.replace("_", "").replace("-", "").isalnum() and spec.vm_size):
        raise InvalidCompute(f"The size {spec.vm_size[:120]!r} is not allowed.", hint="It looks like `STANDARD_D2_V2`.")


def wanted(compute: Compute, busy: int, waiting: int) -> int:
    """The number of nodes that a cluster should have, with `busy` nodes in use and `waiting` more requested."""
    return min(compute.max_nodes, max(compute.min_nodes, busy + waiting))


def adjust(compute: Compute, nodes: Sequence[Node], held: Collection[str], waiting: int, now: float) -> Adjustment:
    """The changes to a cluster's nodes. `held` are the ids of runs that still hold a node, `waiting` is the number of nodes that
    queued runs need.

    A node is free when its run has ended or does not exist. An idle node stops when it has been idle long enough and is neither
    needed nor kept; at once when there are more nodes than the limit. A busy node beyond the limit stops after its run.
    """
    states: dict[str, NodeState] = {}
    busy: list[Node] = []
    idle: list[Node] = []
    leaving: list[Node] = []
    remove: list[str] = []
    for node in nodes:
        if node.state is NodeState.PREEMPTED:  # it is gone, whatever is wanted
            if node.run_id not in held:
                remove.append(node.id)
        elif node.run_id and node.run_id in held:
            (leaving if node.state is NodeState.LEAVING else busy).append(node)
        elif node.state is NodeState.LEAVING:
            remove.append(node.id)
        else:
            if node.state is not NodeState.IDLE:
                states[node.id] = NodeState.IDLE
            idle.append(node)
    target = wanted(compute, len(busy) + len(leaving), waiting)
    while leaving and len(busy) + len(idle) < min(target, compute.max_nodes):
        back = leaving.pop(0)
        states[back.id] = NodeState.RUNNING
        busy.append(back)
    idle.sort(key=lambda node: now if node.id in states else node.since)
    spare = len(busy) + len(idle) - target
    for node in list(idle):
        expired = node.id not in states and now - node.since >= compute.idle_seconds
        if spare > 0 and (expired or len(busy) + len(idle) > compute.max_nodes):
            idle.remove(node)
            states.pop(node.id, None)
            remove.append(node.id)
            spare -= 1
    for node in list(reversed(busy)):
        if len(busy) + len(idle) > compute.max_nodes:
            busy.remove(node)
            states[node.id] = NodeState.LEAVING
    add = max(0, min(target, compute.max_nodes - len(leaving)) - len(busy) - len(idle))
    return Adjustment(states=states, remove=tuple(remove), add=add)


def turns(waiting: Iterable[tuple[str, str]], running: Mapping[str, int]) -> list[str]:
    """The waiting runs in the order in which they get nodes: the user with the fewest nodes first, then by submission.

    `waiting` holds (run, user) in the order of submission, `running` the number of nodes of each user.
    """
    lines: dict[str, list[tuple[int, str]]] = {}
    for place, (run_id, user) in enumerate(waiting):
        lines.setdefault(user, []).append((place, run_id))
    heap = [(running.get(user, 0), line[0][0], user, 0) for user, line in lines.items()]
    heapq.heapify(heap)
    order = []
    while heap:
        count, _, user, index = heapq.heappop(heap)
        line = lines[user]
        order.append(line[index][1])
        if index + 1 < len(line):
            heapq.heappush(heap, (count + 1, line[index + 1][0], user, index + 1))
    return order


def next_gpus(count: int, max_nodes: int, taken: Iterable[int]) -> tuple[int, ...]:
    """The GPUs, of the machine's `count`, for a new node: its share, at least one, preferring those that the fewest nodes use."""
    held = Counter(taken)
    share = max(1, count // max_nodes) if count else 0
    return tuple(sorted(sorted(range(count), key=lambda index: (held[index], index))[:share]))


def split_gpus(count: int, nodes: int, node_rank: int) -> tuple[int, ...]:
    """The GPUs of one of several logical nodes of a machine; nodes share GPUs where there are too few."""
    if not count or nodes == 1:
        return ()
    own = range(node_rank * count // nodes, (node_rank + 1) * count // nodes)
    return tuple(own) or (node_rank % count,)


def next_address(taken: Collection[str]) -> str:
    """The first loopback address that no node has."""
    address = _FIRST_ADDRESS
    while str(address) in taken or address.packed[3] in (0, 255):
        address += 1
    return str(address)
