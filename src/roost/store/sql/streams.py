"""Streams: chunks of bytes by offset. Small appends grow the last chunk, so a chatty script leaves no row per line."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database
from roost.store.sql.statements import Statement

_CHUNK = 256 * 1024
_SMALL = 16 * 1024  # a last chunk below this is written again with what follows: cheap, and bounds the number of rows

_STREAM = (
    sa.select(t.streams.c.id, t.streams.c.size, t.streams.c.tail)
    .join(t.runs, t.runs.c.seq == t.streams.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.streams.c.name == sa.bindparam("name"))
)
_FIND = Statement(_STREAM)
_LOCK = Statement(_STREAM.with_for_update(of=t.streams))
_MAKE = Statement(sa.insert(t.streams).returning(t.streams.c.id))
_MARK = Statement(t.streams.update().where(t.streams.c.id == sa.bindparam("stream")))
_PART = t.stream_chunks.c.stream_id == sa.bindparam("stream")
_CHUNK_AT = sa.and_(_PART, t.stream_chunks.c.start == sa.bindparam("at"))
_TAIL = Statement(sa.select(t.stream_chunks.c.data).where(_CHUNK_AT))
_GROW = Statement(t.stream_chunks.update().where(_CHUNK_AT))
_ADD = Statement(sa.insert(t.stream_chunks))
_EMPTY = Statement(t.stream_chunks.delete().where(_PART))
_FIRST = sa.select(sa.func.max(t.stream_chunks.c.start)).where(_PART, t.stream_chunks.c.start <= sa.bindparam("low"))
_RANGE = Statement(
    sa.select(t.stream_chunks.c.start, t.stream_chunks.c.data)
    .where(_PART, t.stream_chunks.c.start >= _FIRST.scalar_subquery(), t.stream_chunks.c.start < sa.bindparam("high"))
    .order_by(t.stream_chunks.c.start)
)


class SqlStreams:
    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False) -> int:
        def work(connection: sa.Connection) -> int:
            row = _LOCK.one(connection, run_id=run_id, name=name)
            if row is None:
                stream, size, tail = _make(connection, run_id, name), 0, 0
            else:
                stream, size, tail = row
            if reset and size:
                _EMPTY.run(connection, stream=stream)
                _MARK.run(connection, stream=stream, size=0, tail=0)
                size = tail = 0
            if offset != size or not data:
                return size
            tail = _write(connection, stream, tail, size, data)
            _MARK.run(connection, stream=stream, size=size + len(data), tail=tail)
            return size + len(data)

        return self._database.write(work)

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        def work(connection: sa.Connection) -> bytes:
            row = _FIND.one(connection, run_id=run_id, name=name)
            if row is None or offset >= row.size or offset < 0 or limit <= 0:
                return b""
            found = _RANGE.all(connection, stream=row.id, low=offset, high=offset + limit)
            skip = offset - found[0].start
            return b"".join(chunk.data for chunk in found)[skip : skip + limit]

        return self._database.read(work)

    def size(self, run_id: str, name: str) -> int | None:
        row = self._database.read(lambda connection: _FIND.one(connection, run_id=run_id, name=name))
        return None if row is None else int(row.size)

    def names(self, run_id: str) -> Sequence[str]:
        def work(connection: sa.Connection) -> list[str]:
            seq = rows.run_seq(connection, run_id)
            wanted = sa.select(t.streams.c.name).where(t.streams.c.run_seq == seq).order_by(t.streams.c.name)
            return list(connection.execute(wanted).scalars())

        return self._database.read(work)

    def drop(self, run_id: str, names: Sequence[str]) -> None:
        def work(connection: sa.Connection) -> None:
            seq = rows.run_seq(connection, run_id)
            for name in names:
                connection.execute(t.streams.delete().where(t.streams.c.run_seq == seq, t.streams.c.name == name))

        self._database.write(work)


def _make(connection: sa.Connection, run_id: str, name: str) -> int:
    (made,) = _MAKE.all(connection, run_seq=rows.run_seq(connection, run_id), name=name, size=0, tail=0)
    return int(made.id)


def _write(connection: sa.Connection, stream: int, tail: int, size: int, data: bytes) -> int:
    """Writes `data` at `size`; where the last chunk begins now."""
    if size - tail > 0 and size - tail + len(data) <= _SMALL:
        (before,) = _TAIL.all(connection, stream=stream, at=tail)
        _GROW.run(connection, stream=stream, at=tail, data=before.data + data)
        return tail
    starts = range(0, len(data), _CHUNK)
    pieces = [{"stream_id": stream, "start": size + at, "data": data[at : at + _CHUNK]} for at in starts]
    _ADD.many(connection, pieces)
    return size + starts[-1]
