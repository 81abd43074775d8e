"""Metrics: one summary row each, and their points in packed chunks by spool. Start with `append`.

Small chunks are merged on arrival, like adding with carry: a new chunk absorbs the preceding ones that weigh at most twice as
much, until one is heavy enough to stay. So a slow logger leaves a dozen rows, not one per point, and each point is rewritten a
few times, not once per append.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any, TypeVar

import sqlalchemy as sa

from roost.domain.metrics import Encoding, Series, Space, Summary, add, join, summarize
from roost.domain.spools import Batch
from roost.store.base import MetricSummary, SpoolState
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database
from roost.store.sql.statements import Statement

T = TypeVar("T")

_HEAVY = 48 * 1024  # bytes: 2,048 numbers
_MANY = 500  # values in one IN (…)
_REMEMBERED = 256  # spools whose names are cached

_SPOOL = (
    sa.select(t.spools.c.id, t.spools.c.run_seq, t.spools.c.mark, t.spools.c.space, t.spools.c.damaged)
    .join(t.runs, t.runs.c.seq == t.spools.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.spools.c.name == sa.bindparam("spool"))
)
_FIND_SPOOL = Statement(_SPOOL)
_LOCK_SPOOL = Statement(_SPOOL.with_for_update(of=t.spools))
_MARK = Statement(t.spools.update().where(t.spools.c.id == sa.bindparam("spool_id")))
_NAMES = Statement(
    sa.select(t.spool_names.c.number, t.spool_names.c.name).where(t.spool_names.c.spool_id == sa.bindparam("spool_id"))
)
_FORGET_NAME = Statement(
    t.spool_names.delete().where(
        t.spool_names.c.spool_id == sa.bindparam("of_spool"), t.spool_names.c.number == sa.bindparam("of_number")
    )
)
_ADD_NAMES = Statement(sa.insert(t.spool_names))
_NAMED = sa.and_(
    t.metrics.c.run_seq == sa.bindparam("run_seq"),
    t.metrics.c.space == sa.bindparam("space"),
    t.metrics.c.name.in_(sa.bindparam("names", expanding=True)),
)
_KNOWN = Statement(sa.select(t.metrics).where(_NAMED))
_IDS = Statement(sa.select(t.metrics.c.id, t.metrics.c.name).where(_NAMED))
_UPDATE = Statement(t.metrics.update().where(t.metrics.c.id == sa.bindparam("metric_id")))
_LIGHT = Statement(
    sa.select(t.metric_chunks.c.id, t.metric_chunks.c.metric_id, t.metric_chunks.c.weight)
    .where(
        t.metric_chunks.c.metric_id.in_(sa.bindparam("metric_ids", expanding=True)),
        t.metric_chunks.c.spool_id == sa.bindparam("spool_id"),
        t.metric_chunks.c.small.is_(True),
    )
    .order_by(t.metric_chunks.c.id)
)
_COLUMNS = [t.metric_chunks.c[name] for name in ("encoding", "length", "steps", "times", "content")]
_CHUNKS = Statement(
    sa.select(t.metric_chunks.c.id, *_COLUMNS).where(t.metric_chunks.c.id.in_(sa.bindparam("ids", expanding=True)))
)
_ADD_SPOOL = Statement(sa.insert(t.spools).returning(t.spools.c.id))
_ADD_METRICS = Statement(sa.insert(t.metrics))
_ADD_CHUNKS = Statement(sa.insert(t.metric_chunks))
_FORGET_CHUNK = Statement(t.metric_chunks.delete().where(t.metric_chunks.c.id == sa.bindparam("chunk_id")))
_SERIES = Statement(
    sa.select(t.metric_chunks.c.spool_id, *_COLUMNS)
    .join(t.metrics, t.metrics.c.id == t.metric_chunks.c.metric_id)
    .where(
        t.metrics.c.run_seq == sa.bindparam("run_seq"),
        t.metrics.c.space == sa.bindparam("space"),
        t.metrics.c.name == sa.bindparam("name"),
    )
    .order_by(t.metric_chunks.c.spool_id, t.metric_chunks.c.id)
)
_EVERY_SERIES = Statement(
    sa.select(t.metrics.c.name, t.metric_chunks.c.spool_id, *_COLUMNS)
    .join(t.metrics, t.metrics.c.id == t.metric_chunks.c.metric_id)
    .where(t.metrics.c.run_seq == sa.bindparam("run_seq"), t.metrics.c.space == sa.bindparam("space"))
    .order_by(t.metrics.c.name, t.metric_chunks.c.spool_id, t.metric_chunks.c.id)
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
            found = _FIND_SPOOL.one(connection, run_id=run_id, spool=spool)
            if found is None:
                rows.run_seq(connection, run_id)
                return SpoolState(0, {}, Space.USER, False)
            names = self._remembered(run_id, spool, found.mark)
            if names is None:
                names = dict(_NAMES.all(connection, spool_id=found.id))
            return SpoolState(found.mark, names, Space(found.space), bool(found.damaged))

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
            damaged = bool(known.damaged or batch.damaged)
            _MARK.run(connection, spool_id=known.id, mark=mark, space=space, damaged=damaged)
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

    def summaries_of(self, run_ids: Sequence[str], names: Sequence[str] = ()) -> Mapping[str, Sequence[MetricSummary]]:
        wanted = sa.select(t.runs.c.id.label("run_id"), t.metrics).join(t.runs, t.runs.c.seq == t.metrics.c.run_seq)
        wanted = wanted.where(t.metrics.c.space == Space.USER.value)
        if names:
            wanted = wanted.where(t.metrics.c.name.in_(names))

        def work(connection: sa.Connection) -> Sequence[rows.Row]:
            found: list[rows.Row] = []
            for some in _groups(run_ids):
                found += connection.execute(wanted.where(t.runs.c.id.in_(some)).order_by(t.metrics.c.name)).all()
            return found

        by_run: dict[str, list[MetricSummary]] = {}
        for row in self._database.read(work):
            by_run.setdefault(row.run_id, []).append(_summary(row))
        return by_run

    def series(self, run_id: str, name: str, space: Space = Space.USER) -> Sequence[Sequence[Series]]:
        def work(connection: sa.Connection) -> Sequence[rows.Row]:
            seq = rows.run_seq(connection, run_id)
            return _SERIES.all(connection, run_seq=seq, name=name, space=space.value)

        found = self._database.read(work)
        return [[_series(name, row) for row in chunks] for _, chunks in groupby(found, key=lambda row: row.spool_id)]

    def every_series(self, run_id: str, space: Space = Space.USER) -> Mapping[str, Sequence[Sequence[Series]]]:
        def work(connection: sa.Connection) -> Sequence[rows.Row]:
            return _EVERY_SERIES.all(connection, run_seq=rows.run_seq(connection, run_id), space=space.value)

        found: dict[str, list[list[Series]]] = {}
        for (name, _), chunks in groupby(self._database.read(work), key=lambda row: (row.name, row.spool_id)):
            found.setdefault(name, []).append([_series(name, row) for row in chunks])
        return found

    # A spool's names only grow with its mark, so cached names at the same mark are valid, regardless of the writer.

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
    """The spool's row, created if it is new."""
    found = _LOCK_SPOOL.one(connection, run_id=run_id, spool=name)
    if found is not None:
        return _Spool(*found)
    seq, space = rows.run_seq(connection, run_id), Space.USER.value
    (made,) = _ADD_SPOOL.all(connection, run_seq=seq, name=name, mark=0, space=space, damaged=False)
    return _Spool(made.id, seq, 0, space, False)


def _intern(connection: sa.Connection, spool_id: int, names: Mapping[int, str]) -> None:
    _FORGET_NAME.many(connection, [{"of_spool": spool_id, "of_number": number} for number in names])
    _ADD_NAMES.many(connection, [{"spool_id": spool_id, "number": n, "name": name} for n, name in names.items()])


def _add_summaries(
    connection: sa.Connection, run_seq: int, space: str, news: Mapping[str, Summary]
) -> tuple[dict[str, int], set[int]]:
    """Updates the metrics' rows; returns their ids by name, and which of them are new."""
    known: dict[str, rows.Row] = {}
    for names in _groups(news):
        known.update((row.name, row) for row in _KNOWN.all(connection, run_seq=run_seq, space=space, names=names))
    changed = [{"metric_id": row.id, **_columns(add(_stored(row), news[name]))} for name, row in known.items()]
    _UPDATE.many(connection, changed)
    fresh = [name for name in news if name not in known]
    values = [{"run_seq": run_seq, "space": space, "name": name, **_columns(news[name])} for name in fresh]
    _ADD_METRICS.many(connection, values)
    made: dict[str, int] = {}
    for names in _groups(fresh):
        made.update((row.name, row.id) for row in _IDS.all(connection, run_seq=run_seq, space=space, names=names))
    return {**{name: row.id for name, row in known.items()}, **made}, set(made.values())


def _add_chunks(connection: sa.Connection, spool_id: int, chunks: Mapping[int, Series], fresh: set[int]) -> None:
    """Writes each metric's new chunk, merged with the light ones before it. `fresh` metrics have none."""
    light: dict[int, list[rows.Row]] = {}
    for metric_ids in _groups(id_ for id_ in chunks if id_ not in fresh):
        for row in _LIGHT.all(connection, metric_ids=metric_ids, spool_id=spool_id):
            light.setdefault(row.metric_id, []).append(row)
    merged = {metric_id: _carry(light.get(metric_id, []), _weight(chunk)) for metric_id, chunk in chunks.items()}
    before: dict[int, rows.Row] = {}
    for chunk_ids in _groups(id_ for ids in merged.values() for id_ in ids):
        before.update((row.id, row) for row in _CHUNKS.all(connection, ids=chunk_ids))
    _FORGET_CHUNK.many(connection, [{"chunk_id": id_} for id_ in before])
    values = []
    for metric_id, chunk in chunks.items():
        whole = join([*(_series(chunk.name, before[id_]) for id_ in merged[metric_id]), chunk])
        values.append({"metric_id": metric_id, "spool_id": spool_id, **_chunk_columns(whole)})
    _ADD_CHUNKS.many(connection, values)


def _carry(light: Sequence[rows.Row], weight: int) -> list[int]:
    """The last of the light chunks that are merged with a new one of this weight, in their order."""
    taken: list[int] = []
    for row in reversed(light):
        if row.weight > 2 * weight:
            break
        taken.append(row.id)
        weight += row.weight
    return taken[::-1]


def _groups(values: Iterable[T]) -> Iterator[list[T]]:
    """Groups that fit into one IN (…)."""
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
        "text": summary.text,
    }


def _stored(row: rows.Row) -> Summary:
    last = math.nan if row.numeric and row.last is None else row.last
    return Summary(
        row.kind, row.length, bool(row.numeric), last, row.least, row.most, row.last_step, row.last_at, row.text
    )


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
        text=stored.text,
    )
