"""Compute targets and the nodes of clusters. Whatever gives a node to a run, or takes one away, is one transaction here."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain.compute import (
    Adjustment,
    Compute,
    ComputeKind,
    Node,
    NodeState,
    Priority,
    next_address,
    next_gpus,
    turns,
)
from roost.domain.errors import ComputeConflict, ComputeNotFound, NotFound
from roost.domain.runs import HOLDS_NODE, TERMINAL, Run, RunEvent, RunKind, RunStatus
from roost.store.base import MANY, Load
from roost.store.sql import gangs, rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.runs import move
from roost.store.sql.statements import Statement

_HOLDS = sorted(status.value for status in HOLDS_NODE)
_ENDED = sorted(status.value for status in TERMINAL)
_ON = sa.and_(
    t.runs.c.target == sa.bindparam("target"),
    # The target that every workspace has takes the runs of all of them.
    sa.or_(sa.bindparam("ws", type_=sa.String) == "", t.runs.c.workspace == sa.bindparam("ws")),
    t.runs.c.kind == RunKind.SCRIPT.value,
)
_QUEUED = sa.and_(_ON, t.runs.c.status == RunStatus.QUEUED.value)
_KEY = sa.and_(t.computes.c.workspace == sa.bindparam("ws"), t.computes.c.name == sa.bindparam("target"))
_LOOK = Statement(sa.select(t.computes).where(_KEY))
_EVERY = Statement(sa.select(t.computes).order_by(t.computes.c.workspace, t.computes.c.name))
_LOCKED = Statement(sa.select(t.computes).where(_KEY).with_for_update())
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
    .where(_ON, t.runs.c.status.in_(_HOLDS))
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
_OPEN = Statement(
    sa.select(sa.func.count().label("runs")).select_from(t.runs).where(_ON, t.runs.c.status.not_in(_ENDED))
)
_OF_RUN = Statement(sa.select(t.nodes).where(t.nodes.c.run_id == sa.bindparam("run")).order_by(t.nodes.c.number))
_THE_RUN = Statement(sa.select(t.runs).where(_FITS, t.runs.c.id == sa.bindparam("run")).with_for_update())
_TURN = Statement(t.computes.update().where(_KEY).values(turn=sa.bindparam("run")))
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
_BUMP = Statement(t.computes.update().where(_KEY).values(revision=t.computes.c.revision + 1))


class SqlComputes:
    """Keeps the promises of `roost.store.base.Computes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ensure(self, compute: Compute) -> Compute:
        def work(connection: sa.Connection) -> Compute:
            upsert = insert(connection, t.computes).values(_values(compute))
            connection.execute(
                upsert.on_conflict_do_update(
                    index_elements=["workspace", "name"],
                    set_={"max_nodes": upsert.excluded.max_nodes, "engine": upsert.excluded.engine},
                )
            )
            return _compute(_find(connection, compute.workspace, compute.name))

        return self._database.write(work)

    def create(self, compute: Compute) -> tuple[Compute, bool]:
        def work(connection: sa.Connection) -> tuple[Compute, bool]:
            there = _LOCKED.one(connection, ws=compute.workspace, target=compute.name)
            if there is None:
                connection.execute(t.computes.insert(), _values(compute))
                return compute, True
            found = _compute(there)
            differing = [name for name in _SETTINGS if getattr(found, name) != getattr(compute, name)]
            if differing:
                words = ", ".join(f"{_WORDS.get(name, name)} {getattr(found, name)!s}" for name in differing)
                raise ComputeConflict(
                    f"Compute target {compute.name!r} exists already, with {words}.",
                    hint="Use it as it is, change it with update(), or delete it first.",
                    cli_hint=f"Use it as it is, change it (roost compute update {compute.name}) or delete it first "
                    f"(roost compute delete {compute.name}).",
                )
            return found, False

        return self._database.write(work)

    def get(self, workspace: str, name: str) -> Compute:
        return self._database.read(lambda connection: _compute(_find(connection, workspace, name)))

    def list(self, workspace: str | None = None) -> Sequence[Compute]:
        if workspace is None:  # asked by the control loop at each of its turns
            return self._database.read(lambda connection: [_compute(row) for row in _EVERY.all(connection)])
        statement = sa.select(t.computes).order_by(t.computes.c.workspace, t.computes.c.name)
        statement = statement.where(t.computes.c.workspace.in_(("", workspace)))
        return self._database.read(lambda connection: [_compute(row) for row in connection.execute(statement)])

    def update(self, compute: Compute) -> Compute:
        def work(connection: sa.Connection) -> Compute:
            row = _LOCKED.one(connection, ws=compute.workspace, target=compute.name)
            if row is None:
                raise _missing(connection, compute.workspace, compute.name)
            changed = replace(
                _compute(row),
                **{name: getattr(compute, name) for name in (*_SETTINGS, "modified_at")},
                revision=row.revision + 1,
            )
            _write(connection, changed)
            return changed

        return self._database.write(work)

    def delete(self, workspace: str, name: str) -> None:
        def work(connection: sa.Connection) -> None:
            row = _LOCKED.one(connection, ws=workspace, target=name)
            if row is None:
                raise _missing(connection, workspace, name)
            left = int(_OPEN.all(connection, ws=workspace, target=name)[0].runs)
            if left:
                raise ComputeConflict(
                    f"Compute target {name!r} has {left} run{'s' if left != 1 else ''} that {'have' if left != 1 else 'has'} "
                    "not ended.",
                    hint="Wait for them or cancel them (`roost run list`), then delete it.",
                )
            connection.execute(
                t.computes.delete().where(t.computes.c.workspace == workspace, t.computes.c.name == name)
            )

        self._database.write(work)

    def load(self, compute: Compute, *, most: int = MANY) -> Load:
        widest = compute.max_nodes if compute.kind is ComputeKind.CLUSTER else MANY
        return self._database.read(lambda connection: _load(connection, compute.workspace, compute.name, most, widest))

    def queue(self, compute: Compute) -> tuple[Sequence[str], int]:
        def work(connection: sa.Connection) -> tuple[Sequence[str], int]:
            key = {"ws": compute.workspace, "target": compute.name}
            waiting = _QUEUE.all(connection, **key)
            running = sum(int(row.runs) for row in _RUNNING.all(connection, **key))
            if compute.kind is ComputeKind.LOCAL:
                return [row.id for row in waiting], running
            order = _in_turn(connection, waiting, key)
            (turn,) = [row.turn for row in _LOOK.all(connection, **key)] or [None]
            return sorted(order, key=lambda run_id: run_id != turn), running

        return self._database.read(work)

    def adjust(self, compute: Compute, decide: Callable[[Compute, Load], Adjustment], *, at: float) -> bool:
        def work(connection: sa.Connection) -> bool:
            row = _LOCKED.one(connection, ws=compute.workspace, target=compute.name)
            if row is None:
                return False
            now = _compute(row)
            load = _load(connection, now.workspace, now.name, now.max_nodes, now.max_nodes)
            change = decide(now, load)
            if change:
                _apply(connection, row, load, change, at)
            return bool(change)

        return self._database.write(work)

    def claim(
        self, compute: Compute, *, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
    ) -> tuple[Run, Sequence[Node]] | None:
        def work(connection: sa.Connection) -> tuple[Run, Sequence[Node]] | None:
            key = {"ws": compute.workspace, "target": compute.name}
            now = _LOCKED.one(connection, **key)
            first = _next(connection, now, key) if now is not None else None
            if now is None or first is None:
                return None
            idle = [row for row in _NODES.all(connection, **key) if row.state == NodeState.IDLE.value]
            count = first.node_count or 1
            if len(idle) < count:
                if now.turn != first.id:
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

        return self._database.write(work)

    def nodes_of(self, run_id: str) -> Sequence[Node]:
        return self._database.read(lambda connection: [_node(row) for row in _OF_RUN.all(connection, run=run_id)])

    def addresses(self) -> Set[str]:
        return self._database.read(gangs.addresses)

    def preempt(self, compute: Compute, node_id: str, *, at: float) -> Node:
        def work(connection: sa.Connection) -> Node:
            key = {"ws": compute.workspace, "target": compute.name}
            _LOCKED.all(connection, **key)
            there = {node.id: node for node in map(_node, _NODES.all(connection, **key))}
            if node_id not in there:
                raise NotFound(
                    f"Cluster {compute.name!r} has no node {node_id!r}.",
                    hint=f"Its nodes are: {', '.join(there) or 'none'}.",
                )
            node = replace(there[node_id], state=NodeState.PREEMPTED, since=at)
            _SET_NODE.run(
                connection, **key, which=_number(node.id), to=NodeState.PREEMPTED.value, at=at, run=node.run_id
            )
            _BUMP.run(connection, **key)
            return node

        return self._database.write(work)


def _next(connection: sa.Connection, compute: Any, key: Mapping[str, str]) -> Any | None:
    """The run whose turn it is: the one that has waited for enough nodes since its turn came, unless another is more urgent."""
    front = {row.id: row for row in _FRONT.all(connection, **key, widest=compute.max_nodes)}
    if not front:
        return None
    urgent = max(row.priority or 0 for row in front.values())
    if compute.turn:
        kept = _THE_RUN.one(connection, **key, run=compute.turn, widest=compute.max_nodes)
        if kept is not None and (kept.priority or 0) >= urgent:
            return kept
    return front[turns([(row.id, row.user) for row in front.values()], _running(connection, **key))[0]]


def _in_turn(connection: sa.Connection, waiting: Sequence[Any], key: Mapping[str, str]) -> Sequence[str]:
    """Everybody, the most urgent first, fairly among those."""
    running = _running(connection, **key)
    levels = sorted({row.priority for row in waiting}, reverse=True)
    return [
        run_id
        for level in levels
        for run_id in turns([(row.id, row.user) for row in waiting if row.priority == level], running)
    ]


_SETTINGS = (
    "engine",
    "kind",
    "vm_size",
    "priority",
    "min_nodes",
    "max_nodes",
    "idle_seconds",
    "tags",
    "description",
)
_WORDS = {
    "vm_size": "size",
    "min_nodes": "nodes at least",
    "max_nodes": "nodes at most",
    "idle_seconds": "idle seconds",
}
"""What people call a setting, where its name is not what they would say."""


def _find(connection: sa.Connection, workspace: str, name: str) -> rows.Row:
    statement = (
        sa.select(t.computes)
        .where(t.computes.c.name == name, t.computes.c.workspace.in_(("", workspace)))
        .order_by(t.computes.c.workspace.desc())
    )
    row = connection.execute(statement).first()
    if row is None:
        raise _missing(connection, workspace, name)
    return row


def _missing(connection: sa.Connection, workspace: str, name: str) -> ComputeNotFound:
    statement = sa.select(t.computes.c.name).where(t.computes.c.workspace.in_(("", workspace)))
    known = sorted(connection.execute(statement).scalars())
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    return ComputeNotFound(
        f"ComputeTargetNotFound: no compute target named {name!r} in workspace {workspace!r}.",
        hint=f"{meant}The targets here are: {', '.join(known) or 'none'}.",
    )


def _load(connection: sa.Connection, ws: str, target: str, most: int, widest: int = MANY) -> Load:
    (waiting,) = _WAITING.all(connection, ws=ws, target=target, most=most, widest=widest)
    return Load(
        nodes=tuple(_node(row) for row in _NODES.all(connection, ws=ws, target=target)),
        held=frozenset(row.run_id for row in _HELD.all(connection, ws=ws, target=target)),
        waiting=int(waiting.runs),
        asked=int(waiting.nodes or 0),
    )


def _running(connection: sa.Connection, ws: str, target: str) -> dict[str, int]:
    return {row.user: int(row.nodes) for row in _RUNNING.all(connection, ws=ws, target=target)}


def _apply(connection: sa.Connection, row: rows.Row, load: Load, change: Adjustment, at: float) -> None:
    key = {"ws": row.workspace, "target": row.name}
    runs = {node.id: node.run_id for node in load.nodes}
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


def _add(connection: sa.Connection, row: rows.Row, change: Adjustment, at: float) -> int:
    """How many: where nodes are hosts there may be fewer than are wanted."""
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


def _values(compute: Compute) -> Mapping[str, object]:
    return {
        **{name: getattr(compute, name) for name in _PLAIN},
        "kind": compute.kind.value,
        "priority": compute.priority.value,
        "tags": rows.dumps(compute.tags),
        "node_number": 0,
    }


_PLAIN = (
    "workspace",
    "name",
    "engine",
    "vm_size",
    "min_nodes",
    "max_nodes",
    "idle_seconds",
    "description",
    "user",
    "created_at",
    "modified_at",
    "scaled_at",
    "revision",
)


def _compute(row: Any) -> Compute:
    return Compute(
        **{name: getattr(row, name) for name in _PLAIN},
        kind=ComputeKind(row.kind),
        priority=Priority(row.priority),
        tags=json.loads(row.tags),
    )


def _write(connection: sa.Connection, compute: Compute) -> None:
    values = {key: value for key, value in _values(compute).items() if key != "node_number"}
    connection.execute(
        t.computes.update().where(t.computes.c.workspace == compute.workspace, t.computes.c.name == compute.name),
        values,
    )
