"""Compute targets; their nodes are in `nodes.py`, which works within the transactions of this file."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain.compute import Adjustment, Compute, ComputeKind, Node, Priority
from roost.domain.errors import ComputeConflict, ComputeNotFound
from roost.domain.runs import TERMINAL, Run, RunEvent
from roost.store.base import MANY, Load
from roost.store.sql import gangs, nodes, rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.statements import Statement

_ENDED = sorted(status.value for status in TERMINAL)
_LOOK = Statement(sa.select(t.computes).where(nodes.THE_TARGET))
_EVERY = Statement(sa.select(t.computes).order_by(t.computes.c.workspace, t.computes.c.name))
_LOCKED = Statement(sa.select(t.computes).where(nodes.THE_TARGET).with_for_update())
_OPEN = Statement(
    sa.select(sa.func.count().label("runs")).select_from(t.runs).where(nodes.IS_ON, t.runs.c.status.not_in(_ENDED))
)


class SqlComputes:
    """Implements `roost.store.base.Computes`."""

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
        if workspace is None:  # called by the control loop on every pass
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
        return self._database.read(
            lambda connection: nodes.load(connection, compute.workspace, compute.name, most, widest)
        )

    def queue(self, compute: Compute) -> tuple[Sequence[str], int]:
        def work(connection: sa.Connection) -> tuple[Sequence[str], int]:
            row = _LOOK.one(connection, ws=compute.workspace, target=compute.name)
            return nodes.queue(connection, compute, row.turn if row is not None else None)

        return self._database.read(work)

    def adjust(self, compute: Compute, decide: Callable[[Compute, Load], Adjustment], *, at: float) -> bool:
        def work(connection: sa.Connection) -> bool:
            row = _LOCKED.one(connection, ws=compute.workspace, target=compute.name)
            if row is None:
                return False
            now = _compute(row)
            load = nodes.load(connection, now.workspace, now.name, now.max_nodes, now.max_nodes)
            change = decide(now, load)
            if change:
                nodes.adjust(connection, row, load, change, at)
            return bool(change)

        return self._database.write(work)

    def claim(
        self, compute: Compute, *, at: float, event: Callable[[Run, Sequence[Node]], RunEvent]
    ) -> tuple[Run, Sequence[Node]] | None:
        def work(connection: sa.Connection) -> tuple[Run, Sequence[Node]] | None:
            row = _LOCKED.one(connection, ws=compute.workspace, target=compute.name)
            return None if row is None else nodes.claim(connection, row, at, event)

        return self._database.write(work)

    def nodes_of(self, run_id: str) -> Sequence[Node]:
        return self._database.read(lambda connection: nodes.of_run(connection, run_id))

    def addresses(self) -> Set[str]:
        return self._database.read(gangs.addresses)

    def preempt(self, compute: Compute, node_id: str, *, at: float) -> Node:
        def work(connection: sa.Connection) -> Node:
            _LOCKED.all(connection, ws=compute.workspace, target=compute.name)
            return nodes.preempt(connection, compute, node_id, at)

        return self._database.write(work)


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
"""The names of settings in messages, where they differ from the field names."""


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
