"""Runs sorted by a value instead of by age: a metric's last value, an argument, a tag, a field. Reads a few columns of all
runs of a selection, then the requested runs in full. Also lists the arguments, metrics and tags of a selection.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from roost.domain.arguments import in_order, parameters
from roost.domain.errors import InvalidInput
from roost.domain.metrics import Space
from roost.store.base import Order, RunColumns, RunQuery
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.searches import conditions

_MANY = 500  # values in one IN (…)
_FIELDS: dict[str, sa.ColumnElement[Any]] = {
    "id": t.runs.c.id,
    "status": t.runs.c.status,
    "name": t.runs.c.display_name,
    "experiment": t.runs.c.experiment,
    "number": t.runs.c.number,
    "target": t.runs.c.target,
    "user": t.runs.c.user,
    "created": t.runs.c.created_at,
    "started": t.runs.c.started_at,
    "ended": t.runs.c.ended_at,
    "duration": t.runs.c.ended_at - t.runs.c.started_at,
}


def ranked(connection: sa.Connection, query: RunQuery, order: Order) -> Sequence[rows.Row]:
    """The runs from position `order.skip` on."""
    wanted = in_order(dict(_values(connection, query, order.column)), order.descending)
    wanted = wanted[order.skip : order.skip + query.limit]
    found: dict[int, rows.Row] = {}
    for at in range(0, len(wanted), _MANY):
        some = wanted[at : at + _MANY]
        found.update((row.seq, row) for row in connection.execute(sa.select(t.runs).where(t.runs.c.seq.in_(some))))
    return [found[seq] for seq in wanted if seq in found]


def columns(connection: sa.Connection, query: RunQuery) -> RunColumns:
    """The arguments, metrics and tags of a selection's runs."""
    where = conditions(query)
    metrics = (
        sa.select(t.metrics.c.name)
        .join(t.runs, t.runs.c.seq == t.metrics.c.run_seq)
        .where(*where, t.metrics.c.space == Space.USER.value)
        .distinct()
    )
    params: set[str] = set()
    # Without DISTINCT: sorting whole specifications would take longer than parsing them.
    for (spec,) in connection.execute(sa.select(t.runs.c.spec).where(*where)):
        params.update(_parameters(spec))
    tags = (
        sa.select(t.run_labels.c.key)
        .join(t.runs, t.runs.c.seq == t.run_labels.c.run_seq)
        .where(*where, t.run_labels.c.sort == "tag")
        .distinct()
    )
    return RunColumns(
        params=tuple(sorted(params)),
        metrics=tuple(sorted(connection.execute(metrics).scalars())),
        tags=tuple(sorted(connection.execute(tags).scalars())),
    )


def _values(connection: sa.Connection, query: RunQuery, column: str) -> Iterator[tuple[int, Any]]:
    kind, dot, name = column.partition(".")
    where = conditions(query)
    if not dot and column in _FIELDS:
        for row in connection.execute(sa.select(t.runs.c.seq, _FIELDS[column]).where(*where)):
            yield row[0], row[1]
    elif dot and kind == "metrics":
        yield from _metric(connection, where, name)
    elif dot and kind in _READERS:
        source, read = _READERS[kind]
        for seq, text in connection.execute(sa.select(t.runs.c.seq, source).where(*where)):
            yield seq, read(text).get(name)
    else:
        raise InvalidInput(
            f"Runs cannot be sorted by {column!r}.",
            hint=f"By a field ({', '.join(_FIELDS)}), or by params.NAME, metrics.NAME or tags.NAME.",
        )


def _metric(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]], name: str
) -> Iterator[tuple[int, float | str | None]]:
    of = sa.and_(t.metrics.c.run_seq == t.runs.c.seq, t.metrics.c.space == Space.USER.value, t.metrics.c.name == name)
    wanted = sa.select(t.runs.c.seq, t.metrics.c.kind, t.metrics.c.last, t.metrics.c.text)
    for seq, kind, last, text in connection.execute(wanted.join(t.metrics, of, isouter=True).where(*where)):
        yield seq, last if kind == "scalar" else text


def _parameters(spec: str) -> dict[str, str]:
    found = json.loads(spec)
    return parameters(found.get("arguments") or (), found.get("command") or (), bool(found.get("shell")))


_READERS: dict[str, tuple[sa.ColumnElement[str], Callable[[str], dict[str, Any]]]] = {
    "params": (t.runs.c.spec, _parameters),
    "tags": (t.runs.c.tags, json.loads),
}
