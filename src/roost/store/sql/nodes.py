"""The nodes of clusters, and their assignment to runs. These functions work within a transaction of `compute.py`, which has
locked the target's row: every assignment or removal of a node is one transaction.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain.compute import Adjustment, Compute, ComputeKind, Node, NodeState, next_address, next_gpus, turns
from roost.domain.errors import NotFound
from roost.domain.runs import HOLDS_NODE, Run, RunEvent, RunKind, RunStatus
from roost.store.base import MANY, Load
from roost.store.sql import gangs, rows
from roost.store.sql import tables as t
from roost.store.sql.runs import move
from roost.store.sql.statements import Statement

_HOLDS = sorted(status.value for status in HOLDS_NODE)
IS_ON = sa.and_(
    t.runs.c.target == sa.bindparam("target"),
    # The target of every workspace takes the runs of all workspaces.
    sa.or_(sa.bindparam("ws", type_=sa.String) == "", t.runs.c.workspace == sa.bindparam("ws")),
    t.runs.c.kind == RunKind.SCRIPT.value,
)
THE_TARGET = sa.and_(t.computes.c.workspace == sa.bindparam("ws"), t.computes.c.name == sa.bindparam("target"))
_QUEUED = sa.and_(IS_ON, t.runs.c.status == RunStatus.QUEUED.value)
_NODES = Statement(
    sa.select(t.nodes)
    .where(t.nodes.c.workspace == sa.bindparam("ws"), t.nodes.c.compute == sa.bindparam("target"))
    .order_by(t.nodes.c.number)
)
_HELD = Statement(
    sa.select(t.nodes.c.run_id)
    .join(t.runs, t.runs.c.id == t.nodes.c.run_id)
    .where(
        t.nodes.c.workspace == sa.bindparam("ws"),
        t.nodes.c.compute == sa.bindparam("target"),
        t.runs.c.status.in_(_HOLDS),
    )
)
_WIDTH = sa.func.coalesce(t.runs.c.node_count, 1)
_PRIORITY = sa.func.coalesce(t.runs.c.priority, 0)
_FITS = sa.and_(_QUEUED, sa.bindparam("widest", type_=sa.Integer) >= _WIDTH)
_SOME_QUEUED = sa.select(_WIDTH.label("width")).where(_FITS).limit(sa.bindparam("most")).subquery()
_WAITING = Statement(
    sa.select(sa.func.count().label("runs"), sa.func.sum(_SOME_QUEUED.c.width).label("nodes")).select_from(_SOME_QUEUED)
)
_RUNNING = Statement(
    sa.select(t.runs.c.user, sa.func.count().label("runs"), sa.func.sum(_WIDTH).label("nodes"))
    .where(IS_ON, t.runs.c.status.in_(_HOLDS))
    .group_by(t.runs.c.user)
)
_QUEUE = Statement(
    sa.select(t.runs.c.id, t.runs.c.user, _PRIORITY.label("priority")).where(_QUEUED).order_by(t.runs.c.seq)
)
_HIGHEST = sa.select(sa.func.max(_PRIORITY)).where(_FITS).scalar_subquery()
_FIRST_OF_EACH = (
    sa.select(sa.func.min(t.runs.c.seq)).where(_FITS, _PRIORITY == _HIGHEST).group_by(t.runs.c.user).scalar_subquery()
)
_FRONT = Statement(sa.select(t.runs).where(t.runs.c.seq.in_(_FIRST_OF_EACH)).order_by(t.runs.c.seq).with_for_update())
_OF_RUN = Statement(sa.select(t.nodes).where(t.nodes.c.run_id == sa.bindparam("run")).order_by(t.nodes.c.number))
_THE_RUN = Statement(sa.select(t.runs).where(_FITS, t.runs.c.id == sa.bindparam("run")).with_for_update())
_TURN = Statement(t.computes.update().where(THE_TARGET).values(turn=sa.bindparam("run")))
_THE_NODE = sa.and_(
    t.nodes.c.workspace == sa.bindparam("ws"),
    t.nodes.c.compute == sa.bindparam("target"),
    t.nodes.c.number == sa.bindparam("which"),
)
_SET_NODE = Statement(
    t.nodes.update()
    .where(_THE_NODE)
    .values(state=sa.bindparam("to"), since=sa.bindparam("at"), run_id=sa.bindparam("run"))
)
_BUMP = Statement(t.computes.update().where(THE_TARGET).values(revision=t.computes.c.revision + 1))


def load(connection: sa.Connection, ws: str, target: str, most: int, widest: int = MANY) -> Load:
    (waiting,) = _WAITING.all(connection, ws=ws, target=target, most=most, widest=widest)
    return Load(
        nodes=tuple(_node(row) for row in _NODES.all(connection, ws=ws, target=target)),
        held=frozenset(row.run_id for row in _HELD.all(connection, ws=ws, target=target)),
        waiting=int(waiting.runs),
        asked=int(waiting.nodes or 0),
    )


def queue(connection: sa.Connection, compute: Compute, turn: str | None) -> tuple[Sequence[str], int]:
    """Ids of the waiting runs, in the order in which they get nodes; and the number of runs that hold one. `turn` is the run
    that waits for enough nodes since its turn came."""
    key = {"ws": compute.workspace, "target": compute.name}
    waiting = _QUEUE.all(connection, **key)
    running = sum(int(row.runs) for row in _RUNNING.all(connection, **key))
    if compute.kind is ComputeKind.LOCAL:
        return [row.id for row in waiting], running
    return sorted(_in_turn(connection, waiting, key), key=lambda run_id: run_id != turn), running


def adjust(connection: sa.Connection, row: rows.Row, found: Load, change: Adjustment, at: float) -> None:
    """Applies the change; `row` is the target's, `found` its load before."""
    key = {"ws": row.workspace, "target": row.name}
    runs = {node.id: node.run_id for node in found.nodes}
    for node_id, state in change.states.items():
        run_id = "" if state is NodeState.IDLE else runs[node_id]
        _SET_NODE.run(connection, **key, which=_number(node_id), to=state.value, at=at, run=run_id)
    for node_id in change.remove:
        connection.execute(t.nodes.delete().where(_THE_NODE), {**key, "which": _number(node_id)})
    added = _add(connection, row, change, at) if change.add else 0
    moved = bool(added or change.remove)
    connection.execute(
        t.computes.update().where(t.computes.c.workspace == row.workspace, t.computes.c.name == row.name),
        {
            "revision": row.revision + 1,
            "node_number": row.node_number + added,
            "scaled_at": at if moved else row.scaled_at,
        },
    )


def claim(
    connection: sa.Connection, target: Any, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
) -> tuple[Run, Sequence[Node]] | None:
    """The next run in turn, moved by `event`, with its nodes; None when no run waits or there are too few nodes."""
    key = {"ws": target.workspace, "target": target.name}
    first = _next(connection, target, key)
    if first is None:
        return None
    idle = [row for row in _NODES.all(connection, **key) if row.state == NodeState.IDLE.value]
    count = first.node_count or 1
    if len(idle) < count:
        if target.turn != first.id:
            _TURN.run(connection, **key, run=first.id)
        return None
    taken = idle[:count]
    nodes = [replace(_node(row), state=NodeState.RUNNING, since=at, run_id=first.id) for row in taken]
    run, _ = move(connection, first, event(rows.run(first), nodes))
    for row in taken:
        _SET_NODE.run(connection, **key, which=row.number, to=NodeState.RUNNING.value, at=at, run=first.id)
    if count > 1:
        gangs.seat(connection, first, [(node.id, node.address) for node in nodes], at)
    _TURN.run(connection, **key, run=None)
    _BUMP.run(connection, **key)
    return run, nodes


def of_run(connection: sa.Connection, run_id: str) -> Sequence[Node]:
    return [_node(row) for row in _OF_RUN.all(connection, run=run_id)]


def preempt(connection: sa.Connection, compute: Compute, node_id: str, at: float) -> Node:
    key = {"ws": compute.workspace, "target": compute.name}
    there = {node.id: node for node in map(_node, _NODES.all(connection, **key))}
    if node_id not in there:
        raise NotFound(
            f"Cluster {compute.name!r} has no node {node_id!r}.",
            hint=f"Its nodes are: {', '.join(there) or 'none'}.",
        )
    node = replace(there[node_id], state=NodeState.PREEMPTED, since=at)
    _SET_NODE.run(connection, **key, which=_number(node.id), to=NodeState.PREEMPTED.value, at=at, run=node.run_id)
    _BUMP.run(connection, **key)
    return node


def _next(connection: sa.Connection, target: Any, key: Mapping[str, str]) -> Any | None:
    """The next run in turn: the one that waits for enough nodes since its turn came, unless another is more urgent."""
    front = {row.id: row for row in _FRONT.all(connection, **key, widest=target.max_nodes)}
    if not front:
        return None
    urgent = max(row.priority or 0 for row in front.values())
    if target.turn:
        kept = _THE_RUN.one(connection, **key, run=target.turn, widest=target.max_nodes)
        if kept is not None and (kept.priority or 0) >= urgent:
            return kept
    return front[turns([(row.id, row.user) for row in front.values()], _running(connection, **key))[0]]


def _in_turn(connection: sa.Connection, waiting: Sequence[Any], key: Mapping[str, str]) -> Sequence[str]:
    """All waiting runs, the most urgent first, with fair turns among equals."""
    running = _running(connection, **key)
    levels = sorted({row.priority for row in waiting}, reverse=True)
    return [
        run_id
        for level in levels
        for run_id in turns([(row.id, row.user) for row in waiting if row.priority == level], running)
    ]


def _running(connection: sa.Connection, ws: str, target: str) -> dict[str, int]:
    return {row.user: int(row.nodes) for row in _RUNNING.all(connection, ws=ws, target=target)}


def _add(connection: sa.Connection, row: rows.Row, change: Adjustment, at: float) -> int:
    """Returns the number of added nodes: where nodes are hosts, there may be fewer than requested."""
    taken = gangs.addresses(connection)
    hosts = None if change.addresses is None else [each for each in change.addresses if each not in taken]
    count = change.add if hosts is None else min(change.add, len(hosts))
    held = [
        index for text in connection.execute(sa.select(t.nodes.c.gpus)).scalars() for index in json.loads(text or "[]")
    ]
    for number in range(row.node_number + 1, row.node_number + 1 + count):
        address = hosts.pop(0) if hosts else next_address(taken)
        taken.add(address)
        own = next_gpus(change.gpus, row.max_nodes, held)
        held += own
        values = {
            "address": address,
            "state": NodeState.PREPARING.value,
            "since": at,
            "run_id": "",
            "gpus": json.dumps(own),
        }
        connection.execute(
            t.nodes.insert(), {"workspace": row.workspace, "compute": row.name, "number": number, **values}
        )
    return count


def _number(node_id: str) -> int:
    return int(node_id.rpartition("-")[2])


def _node(row: Any) -> Node:
    return Node(
        id=f"{row.compute}-{row.number}",
        workspace=row.workspace,
        compute=row.compute,
        address=row.address,
        state=NodeState(row.state),
        since=row.since,
        run_id=row.run_id,
        gpus=tuple(json.loads(row.gpus or "[]")),
    )
