"""Which runs: a RunQuery as SQL that walks an index, newest first, and stops at the limit. Nothing here scans or sorts.

Two shapes: without labels the index of `runs` that fits the equalities is walked; with labels the index of the first label
leads, since it alone may be rare. Several statuses are as many walks, merged here: one walk over all would lose its order.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from roost.domain.runs import RunStatus
from roost.store.base import RunQuery
from roost.store.sql import rows
from roost.store.sql import tables as t


def search(connection: sa.Connection, query: RunQuery) -> Sequence[rows.Row]:
    if query.limit <= 0:
        return []
    before = None if query.before is None else rows.run_seq(connection, query.before)
    statuses: Sequence[RunStatus | None] = list(dict.fromkeys(query.status)) or [None]
    found = [row for status in statuses for row in connection.execute(statement(query, status, before)).all()]
    if len(statuses) > 1:
        found.sort(key=lambda row: -row.seq)
    return found[: query.limit]


def statement(query: RunQuery, status: RunStatus | None, before: int | None) -> sa.Select[*tuple[Any, ...]]:
    """Public for the test that reads its query plan."""
    labels = _labels(query)
    if labels:
        lead = t.run_labels.alias("lead")
        order: sa.ColumnElement[int] = lead.c.run_seq
        wanted = sa.select(t.runs).select_from(lead).join(t.runs, t.runs.c.seq == lead.c.run_seq)
        wanted = wanted.where(*_matches(lead, *labels[0]))
    else:
        order = t.runs.c.seq
        wanted = sa.select(t.runs)
    wanted = wanted.where(t.runs.c.workspace == query.workspace)
    if query.experiment is not None:
        wanted = wanted.where(t.runs.c.experiment == query.experiment)
    if status is not None:
        wanted = wanted.where(t.runs.c.status == status.value)
    if query.kind is not None:
        wanted = wanted.where(t.runs.c.kind == query.kind.value)
    if query.parent_id is not None or not query.include_children:
        wanted = wanted.where(t.runs.c.parent_id == (query.parent_id or ""))
    for sort, key, value in labels[1:]:
        also = t.run_labels.alias()
        wanted = wanted.where(sa.exists().where(also.c.run_seq == order, *_matches(also, sort, key, value)))
    if before is not None:
        wanted = wanted.where(order < before)
    return wanted.order_by(order.desc()).limit(query.limit)


def _labels(query: RunQuery) -> list[tuple[str, str, str | None]]:
    """Those with a value first: they are rarer."""
    found = [("tag", *item) for item in query.tags.items()] + [("property", *item) for item in query.properties.items()]
    return sorted(found, key=lambda label: label[2] is None)


def _matches(table: sa.FromClause, sort: str, key: str, value: str | None) -> list[sa.ColumnElement[bool]]:
    matches = [table.c.sort == sort, table.c.key == key]
    if value is not None:
        matches += [table.c.head == value[: rows.HEAD], table.c.value == value]
    return matches
