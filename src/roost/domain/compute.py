"""Compute: a named place where runs go. `local` is this machine with a limit; a cluster has nodes that come and go.

`adjust` decides when nodes come and go, `turns` who is next: both are pure, and everything they look at stands in the store.
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
"""127.0.1.1 is some machines' own name."""


class ComputeKind(StrEnum):
    LOCAL = "local"
    """This machine: as many runs at once as its limit says, in the order of submission. Every workspace has it."""
    CLUSTER = "cluster"
    """Nodes that come on demand and go when idle, one run on each or on several. Belongs to one workspace."""


HOST_TAG = "roost.host"
"""Tag of a cluster whose one node is the host of that address, and no other."""


class Priority(StrEnum):
    DEDICATED = "dedicated"
    LOW = "lowpriority"
    """Nodes that may be taken away; then the runs on them begin again on others."""


class NodeState(StrEnum):
    PREPARING = "preparing"
    IDLE = "idle"
    RUNNING = "running"
    LEAVING = "leaving"
    """It goes as soon as the run on it has ended."""
    PREEMPTED = "preempted"
    """It was taken away: the run on it is ended there and waits again, then it goes."""


@dataclass(frozen=True, kw_only=True)
class ComputeSpec:
    """What is asked for."""

    max_nodes: int
    """How many nodes there are at once; runs that do not find theirs wait."""
    min_nodes: int = 0
    """So many nodes stay, also when idle."""
    idle_seconds: float = 1800.0
    """A node that has been idle for longer goes."""
    engine: str = ""
    """Name of an engine; empty for the one that has the host of HOST_TAG, else for the control plane's own choice."""
    vm_size: str = ""
    """A wish: on the embedded engine nodes share the machine, whatever they are called."""
    priority: Priority = Priority.DEDICATED
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Compute:
    """What exists."""

    name: str
    engine: str
    max_nodes: int
    workspace: str = ""
    """Empty for `local`, which every workspace has."""
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
    """When its settings changed."""
    scaled_at: float = 0.0
    """When a node last came or went."""
    revision: int = 1
    """Grows with every change of the settings or of a node; long polls wait for it to pass a value."""


@dataclass(frozen=True, kw_only=True)
class Node:
    id: str
    """`<cluster>-<number>`, never used again."""
    workspace: str
    compute: str
    address: str
    """That of its host; of a logical one a loopback address of its own, so that runs of two nodes can have the same port."""
    state: NodeState
    since: float
    """When it came into this state."""
    run_id: str = ""
    gpus: tuple[int, ...] = ()
    """Indexes of those GPUs of its machine that its runs see; empty where there are none."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the nodes of an embedded engine share."""

    cores: int
    memory_gb: float
    gpus: int


@dataclass(frozen=True, kw_only=True)
class ComputeStatus:
    """A compute target as it is at a moment."""

    compute: Compute
    nodes: tuple[Node, ...]
    queued: int
    """Runs that wait for nodes."""
    running: int
    """Runs that have theirs."""
    wanted: int
    """How many nodes it goes towards."""
    machine: Machine


@dataclass(frozen=True, kw_only=True)
class Adjustment:
    """What changes of a cluster's nodes."""

    states: Mapping[str, NodeState] = field(default_factory=dict)
    """New states by node; a node that becomes idle has no run any more."""
    remove: tuple[str, ...] = ()
    add: int = 0
    gpus: int = 0
    """How many the machine of the new nodes has: each gets its share of them."""
    addresses: tuple[str, ...] | None = None
    """Hosts that new nodes can be, each one at a time; None where nodes are logical and get a loopback address each."""

    def __bool__(self) -> bool:
        return bool(self.states or self.remove or self.add)


def check(spec: ComputeSpec) -> None:
    """InvalidCompute says which rule is broken, and by which value."""
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
    """How many nodes a cluster goes towards with so many runs on it and before it."""
    return min(compute.max_nodes, max(compute.min_nodes, busy + waiting))


def adjust(compute: Compute, nodes: Sequence[Node], held: Collection[str], waiting: int, now: float) -> Adjustment:
    """What to change of a cluster's nodes. `held` are the ids of runs that still hold a node, `waiting` how many nodes those who
    are queued ask for.

    A node whose run has ended, or is not there any more, is free. Idle nodes go when they have been idle long enough and are
    neither needed nor kept; at once when there are more than the limit. A busy node beyond the limit leaves after its run.
    """
    states: dict[str, NodeState] = {}
    busy: list[Node] = []
    idle: list[Node] = []
    leaving: list[Node] = []
    remove: list[str] = []
    for node in nodes:
        if node.state is NodeState.PREEMPTED:  # whatever is wanted, it is no node any more
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
    """The runs in the order they get nodes: of those who wait, the user with the fewest nodes first, then by submission.

    `waiting` has (run, user) in the order of submission, `running` how many nodes each user has.
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
    """Which of a machine's `count` GPUs a new node gets: its share, at least one, of those that the fewest nodes have."""
    held = Counter(taken)
    share = max(1, count // max_nodes) if count else 0
    return tuple(sorted(sorted(range(count), key=lambda index: (held[index], index))[:share]))


def split_gpus(count: int, nodes: int, node_rank: int) -> tuple[int, ...]:
    """Which GPUs one of several logical nodes of a machine gets; they take turns where there are too few."""
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
