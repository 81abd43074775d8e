"""Metrics: a summary row each, and their points in packed chunks by spool. Start with `append`.

Small chunks are merged as they come, as one adds with carry: a new chunk takes in those before it that weigh no more than
twice as much, until one is heavy enough to be left alone. So a slow logger leaves a dozen rows, not one per point, and each
point is written again a handful of times, not once per append.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any, TypeVar

import sqlalchemy as sa

from roost.domain.metrics import Batch, Encoding, Series, Space, Summary, add, join, summarize
from roost.store.base import MetricSummary, SpoolState
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

T = TypeVar("T")

_HEAVY = 48 * 1024  # bytes: 2,048 numbers
_MANY = 500  # values in one IN (…)
_REMEMBERED = 256  # spools whose names are kept at hand

_SPOOL = (
    sa.select(t.spools.c.id, t.spools.c.run_seq, t.spools.c.mark, t.spools.c.space, t.spools.c.damaged)
    .join(t.runs, t.runs.c.seq == t.spools.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.spools.c.name == sa.bindparam("spool"))
)
_LOCKED_SPOOL = _SPOOL.with_for_update(of=t.spools)
_MARK = (
    t.spools.update()
    .where(t.spools.c.id == sa.bindparam("spool_id"))
    .values(mark=sa.bindparam("mark"), space=sa.bindparam("space"), damaged=sa.bindparam("damaged"))
)
_NAMES = sa.select(t.spool_names.c.number, t.spool_names.c.name).where(
    t.spool_names.c.spool_id == sa.bindparam("spool_id")
)
_KNOWN = sa.select(t.metrics).where(
    t.metrics.c.run_seq == sa.bindparam("run_seq"),
    t.metrics.c.space == sa.bindparam("space"),
    t.metrics.c.name.in_(sa.bindparam("names", expanding=True)),
)
_UPDATE = (
    t.metrics.update()
    .where(t.metrics.c.id == sa.bindparam("metric_id"))
    .values(
        {
            name: sa.bindparam(f"new_{name}")
            for name in ("kind", "length", "numeric", "last", "least", "most", "last_step", "last_at")
        }
    )
)
_SMALL = (
    sa.select(t.metric_chunks.c.id, t.metric_chunks.c.metric_id, t.metric_chunks.c.weight)
    .where(
        t.metric_chunks.c.metric_id.in_(sa.bindparam("metric_ids", expanding=True)),
        t.metric_chunks.c.spool_id == sa.bindparam("spool_id"),
        t.metric_chunks.c.small.is_(True),
    )
    .order_by(t.metric_chunks.c.id)
)
_COLUMNS = [t.metric_chunks.c[name] for name in ("encoding", "length", "steps", "times", "content")]
_CHUNKS = sa.select(t.metric_chunks.c.id, *_COLUMNS).where(
    t.metric_chunks.c.id.in_(sa.bindparam("ids", expanding=True))
)
_ADD_SPOOL = sa.insert(t.spools).returning(t.spools.c.id)
_ADD_METRICS = sa.insert(t.metrics).returning(t.metrics.c.name, t.metrics.c.id)
_ADD_CHUNKS = sa.insert(t.metric_chunks)
_FORGET = t.metric_chunks.delete().where(t.metric_chunks.c.id == sa.bindparam("chunk_id"))
_SERIES = (
    sa.select(t.metric_chunks.c.spool_id, *_COLUMNS)
    .join(t.metrics, t.metrics.c.id == t.metric_chunks.c.metric_id)
    .join(t.runs, t.runs.c.seq == t.metrics.c.run_seq)
    .where(
        t.runs.c.id == sa.bindparam("run_id"),
        t.metrics.c.space == sa.bindparam("space"),
        t.metrics.c.name == sa.bindparam("name"),
    )
    .order_by(t.metric_chunks.c.spool_id, t.metric_chunks.c.id)
)


@dataclass(frozen=True, slots=True)
class _Spool:
    id: int
    run_seq: int
    mark: int
    space: str
    damaged: bool


class SqlMetrics:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: OrderedDict[tuple[str, str], tuple[int, Mapping[int, str]]] = OrderedDict()
        self._names_lock = Lock()

    def spool(self, run_id: str, spool: str) -> SpoolState:
        def work(connection: sa.Connection) -> SpoolState:
            found = connection.execute(_SPOOL, {"run_id": run_id, "spool": spool}).one_or_none()
            if found is None:
                rows.run_seq(connection, run_id)
                return SpoolState(0, {}, Space.USER, False)
            names = self._remembered(run_id, spool, found.mark)
            if names is None:
                names = {row.number: row.name for row in connection.execute(_NAMES, {"spool_id": found.id})}
            return SpoolState(found.mark, names, Space(found.space), found.damaged)

        state = self._database.read(work)
        self._remember(run_id, spool, state.offset, state.names)
        return state

    def append(self, run_id: str, spool: str, offset: int, batch: Batch) -> int:
        chunks = _by_name(batch.series)
        news = {name: summarize(series) for name, series in chunks.items()}

        def work(connection: sa.Connection) -> int:
            known = _find_spool(connection, run_id, spool)
            if known.mark != offset:
                return known.mark
            space = batch.space.value if batch.space is not None else known.space
            mark = known.mark + batch.consumed
            state = {"mark": mark, "space": space, "damaged": known.damaged or batch.damaged}
            connection.execute(_MARK, {"spool_id": known.id, **state})
            if batch.names:
                _intern(connection, known.id, batch.names)
            if news:
                metric_ids, fresh = _add_summaries(connection, known.run_seq, space, news)
                _add_chunks(connection, known.id, {metric_ids[name]: chunk for name, chunk in chunks.items()}, fresh)
            return mark

        mark = self._database.write(work)
        if mark == offset + batch.consumed:
            self._grow(run_id, spool, offset, mark, batch.names)
        return mark

    def summaries(self, run_id: str, space: Space = Space.USER) -> Sequence[MetricSummary]:
        def work(connection: sa.Connection) -> Sequence[rows.Row]:
            seq = rows.run_seq(connection, run_id)
            wanted = sa.select(t.metrics).where(t.metrics.c.run_seq == seq, t.metrics.c.space == space.value)
            return connection.execute(wanted.order_by(t.metrics.c.name)).all()

        return [_summary(row) for row in self._database.read(work)]

    def series(self, run_id: str, name: str, space: Space = Space.USER) -> Sequence[Sequence[Series]]:
        def work(connection: sa.Connection) -> Sequence[rows.Row]:
            rows.run_seq(connection, run_id)
            return connection.execute(_SERIES, {"run_id": run_id, "name": name, "space": space.value}).all()

        found = self._database.read(work)
        return [[_series(name, row) for row in chunks] for _, chunks in groupby(found, key=lambda row: row.spool_id)]

    # Names of a spool only ever grow with its mark, so those remembered at the same mark are right, whoever wrote them.

    def _remembered(self, run_id: str, spool: str, mark: int) -> Mapping[int, str] | None:
        with self._names_lock:
            found = self._names.get((run_id, spool))
            return found[1] if found is not None and found[0] == mark else None

    def _remember(self, run_id: str, spool: str, mark: int, names: Mapping[int, str]) -> None:
        with self._names_lock:
            self._names[run_id, spool] = (mark, names)
            self._names.move_to_end((run_id, spool))
            while len(self._names) > _REMEMBERED:
                self._names.popitem(last=False)

    def _grow(self, run_id: str, spool: str, before: int, mark: int, fresh: Mapping[int, str]) -> None:
        names = self._remembered(run_id, spool, before)
        if names is not None:
            self._remember(run_id, spool, mark, {**names, **fresh} if fresh else names)


def _by_name(series: Iterable[Series]) -> dict[str, Series]:
    parts: dict[str, list[Series]] = {}
    for part in series:
        if part.count:
            parts.setdefault(part.name, []).append(part)
    return {name: join(found) for name, found in parts.items()}


def _find_spool(connection: sa.Connection, run_id: str, name: str) -> _Spool:
    """The spool's row, made if it is new."""
    found = connection.execute(_LOCKED_SPOOL, {"run_id": run_id, "spool": name}).one_or_none()
    if found is not None:
        return _Spool(*found)
    seq = rows.run_seq(connection, run_id)
    values = {"run_seq": seq, "name": name, "mark": 0, "space": Space.USER.value, "damaged": False}
    spool_id = connection.execute(_ADD_SPOOL, values).scalar_one()
    return _Spool(spool_id, seq, 0, Space.USER.value, False)


def _intern(connection: sa.Connection, spool_id: int, names: Mapping[int, str]) -> None:
    upsert = insert(connection, t.spool_names)
    connection.execute(
        upsert.on_conflict_do_update(index_elements=["spool_id", "number"], set_={"name": upsert.excluded.name}),
        [{"spool_id": spool_id, "number": number, "name": name} for number, name in names.items()],
    )


def _add_summaries(
    connection: sa.Connection, run_seq: int, space: str, news: Mapping[str, Summary]
) -> tuple[dict[str, int], set[int]]:
    """Brings the metrics' rows up to date; their ids by name, and which of them are new."""
    known: dict[str, rows.Row] = {}
    for names in _groups(news):
        found = connection.execute(_KNOWN, {"run_seq": run_seq, "space": space, "names": names})
        known.update((row.name, row) for row in found)
    ids = {name: int(row.id) for name, row in known.items()}
    if known:
        changed = [(row.id, _columns(add(_stored(row), news[name]))) for name, row in known.items()]
        connection.execute(
            _UPDATE,
            [{"metric_id": id_, **{f"new_{key}": value for key, value in columns.items()}} for id_, columns in changed],
        )
    fresh = [name for name in news if name not in known]
    if fresh:
        values = [{"run_seq": run_seq, "space": space, "name": name, **_columns(news[name])} for name in fresh]
        made = connection.execute(_ADD_METRICS, values)
        ids.update((row.name, int(row.id)) for row in made)
    return ids, {ids[name] for name in fresh}


def _add_chunks(connection: sa.Connection, spool_id: int, chunks: Mapping[int, Series], fresh: set[int]) -> None:
    """Writes each metric's new chunk, with the light ones before it merged in. `fresh` metrics have none."""
    light: dict[int, list[rows.Row]] = {}
    for metric_ids in _groups(id_ for id_ in chunks if id_ not in fresh):
        for row in connection.execute(_SMALL, {"metric_ids": metric_ids, "spool_id": spool_id}):
            light.setdefault(row.metric_id, []).append(row)
    merged = {metric_id: _carry(light.get(metric_id, []), _weight(chunk)) for metric_id, chunk in chunks.items()}
    before: dict[int, rows.Row] = {}
    for chunk_ids in _groups(id_ for ids in merged.values() for id_ in ids):
        before.update((row.id, row) for row in connection.execute(_CHUNKS, {"ids": chunk_ids}))
    if before:
        connection.execute(_FORGET, [{"chunk_id": id_} for id_ in before])
    values = []
    for metric_id, chunk in chunks.items():
        whole = join([*(_series(chunk.name, before[id_]) for id_ in merged[metric_id]), chunk])
        values.append({"metric_id": metric_id, "spool_id": spool_id, **_chunk_columns(whole)})
    connection.execute(_ADD_CHUNKS, values)


def _carry(light: Sequence[rows.Row], weight: int) -> list[int]:
    """Which of the light chunks, the last ones, are merged with a new one of this weight; in their order."""
    taken: list[int] = []
    for row in reversed(light):
        if row.weight > 2 * weight:
            break
        taken.append(row.id)
        weight += row.weight
    return taken[::-1]


def _groups(values: Iterable[T]) -> Iterator[list[T]]:
    """So many at a time as fit into one IN (…)."""
    rest = list(values)
    return (rest[at : at + _MANY] for at in range(0, len(rest), _MANY))


def _weight(series: Series) -> int:
    return len(series.steps) + len(series.times) + len(series.values)


def _chunk_columns(series: Series) -> dict[str, Any]:
    weight = _weight(series)
    return {
        "encoding": series.encoding.value,
        "length": series.count,
        "weight": weight,
        "small": weight < _HEAVY,
        "steps": series.steps,
        "times": series.times,
        "content": series.values,
    }


def _series(name: str, row: rows.Row) -> Series:
    return Series(name, Encoding(row.encoding), row.length, row.steps, row.times, row.content)


def _columns(summary: Summary) -> dict[str, Any]:
    last = None if summary.last is None or math.isnan(summary.last) else summary.last
    return {
        "kind": summary.kind,
        "length": summary.count,
        "numeric": summary.numeric,
        "last": last,
        "least": summary.least,
        "most": summary.most,
        "last_step": summary.last_step,
        "last_at": summary.last_at,
    }


def _stored(row: rows.Row) -> Summary:
    last = math.nan if row.numeric and row.last is None else row.last
    return Summary(row.kind, row.length, row.numeric, last, row.least, row.most, row.last_step, row.last_at)


def _summary(row: rows.Row) -> MetricSummary:
    stored = _stored(row)
    return MetricSummary(
        name=row.name,
        space=Space(row.space),
        kind=stored.kind,
        count=stored.count,
        last=stored.last,
        least=stored.least,
        most=stored.most,
        last_step=stored.last_step,
        last_at=stored.last_at,
    )
