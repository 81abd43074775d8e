"""Selects runs: a RunQuery as SQL that walks an index, newest first, and stops at the limit. Nothing here sorts a table.

One condition leads, and the others are checked for each of its runs: of labels and status, the one with the fewest runs, by a
quick count of the index; else the parent. Several statuses are separate walks, merged here, because one walk over all of them
would lose the order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from roost.domain.runs import RunKind, RunStatus
from roost.store.base import RunQuery
from roost.store.sql import rows
from roost.store.sql import tables as t

_ENOUGH = 1000  # the count stops here: a walk over this many takes a millisecond or two

Select = sa.Select[*tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Label:
    sort: str
    key: str
    value: str | None

    def matches(self, table: sa.FromClause) -> list[sa.ColumnElement[bool]]:
        found = [table.c.sort == self.sort, table.c.key == self.key]
        if self.value is not None:
            found += [table.c.head == self.value[: rows.HEAD], table.c.value == self.value]
        return found


def search(connection: sa.Connection, query: RunQuery) -> Sequence[rows.Row]:
    if query.limit <= 0:
        return []
    before = None if query.before is None else rows.run_seq(connection, query.before)
    statuses: Sequence[RunStatus | None] = list(dict.fromkeys(query.status)) or [None]
    found: list[rows.Row] = []
    for status in statuses:
        lead = _choose_lead(connection, query, status)
        found += connection.execute(statement(query, status, before, lead)).all()
    if len(statuses) > 1:
        found.sort(key=lambda row: -row.seq)
    return found[: query.limit]


def statement(query: RunQuery, status: RunStatus | None, before: int | None, lead: Label | None) -> Select:
    """The walk: along the index of `lead`, or along one of `runs`. (Public for the test that reads its query plan.)"""
    labels = t.run_labels.alias("lead")
    order: sa.ColumnElement[int] = t.runs.c.seq if lead is None else labels.c.run_seq
    wanted: Select = sa.select(t.runs).where(*_own(query, status))
    if lead is not None:
        wanted = wanted.join(labels, labels.c.run_seq == t.runs.c.seq).where(*lead.matches(labels))
    for label in _labels(query):
        if label != lead:
            also = t.run_labels.alias()
            wanted = wanted.where(sa.exists().where(also.c.run_seq == order, *label.matches(also)))
    if before is not None:
        wanted = wanted.where(order < before)
    return wanted.order_by(order.desc()).limit(query.limit)


def conditions(query: RunQuery) -> list[sa.ColumnElement[bool]]:
    """All conditions of a query, for callers that read every matching run."""
    either = [sa.and_(*_own(query, status)) for status in query.status]
    found = [sa.or_(*either)] if either else _own(query, None)
    for label in _labels(query):
        also = t.run_labels.alias()
        found.append(sa.exists().where(also.c.run_seq == t.runs.c.seq, *label.matches(also)))
    return found


def _own(query: RunQuery, status: RunStatus | None) -> list[sa.ColumnElement[bool]]:
    """The conditions on the run itself. Two have a form that no index fits, so that the database walks the right index."""
    found = [t.runs.c.workspace == query.workspace]
    if query.experiment is not None:
        found.append(t.runs.c.experiment == query.experiment)
    if query.kind is not None:
        found.append(t.runs.c.kind == query.kind.value)
    if query.since is not None:
        found.append(t.runs.c.created_at >= query.since)
    if query.experiment is None:
        found.append(t.is_replica if query.kind is RunKind.REPLICA else t.is_work)
    if query.parent_id is not None:
        found.append(t.runs.c.parent_id == query.parent_id)
        if status is not None:
            found.append(_unindexed(t.runs.c.status) == status.value)
        return found
    if status is not None:
        found.append(t.runs.c.status == status.value)
    if not query.include_children:
        found.append((t.runs.c.parent_id if status is None else _unindexed(t.runs.c.parent_id)) == "")
    return found


def _unindexed(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.func.coalesce(column, "")


def _labels(query: RunQuery) -> list[Label]:
    return [Label("tag", *item) for item in query.tags.items()] + [
        Label("property", *item) for item in query.properties.items()
    ]


def _choose_lead(connection: sa.Connection, query: RunQuery, status: RunStatus | None) -> Label | None:
    labels = _labels(query)
    if not labels:
        return None
    if len(labels) == 1 and status is None and query.parent_id is None:
        return labels[0]
    counts = [
        (_count(connection, sa.select(t.run_labels.c.run_seq).where(*label.matches(t.run_labels))), label)
        for label in labels
    ]
    least, lead = min(counts, key=lambda pair: pair[0])
    own = _count(connection, sa.select(t.runs.c.seq).where(*_own(query, status)))
    return None if own < least else lead


def _count(connection: sa.Connection, wanted: sa.Select[*tuple[Any, ...]]) -> int:
    counted = sa.select(sa.func.count()).select_from(wanted.limit(_ENOUGH).subquery())
    return int(connection.execute(counted).scalar_one())
