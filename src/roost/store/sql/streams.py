"""Streams: chunks of bytes by offset. Small appends grow the last chunk, so a chatty script leaves no row per line."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database

_CHUNK = 256 * 1024
_SMALL = 16 * 1024  # a last chunk below this is written again with what follows: cheap, and bounds the number of rows

_FIND = (
    sa.select(t.streams.c.id, t.streams.c.size, t.streams.c.tail)
    .join(t.runs, t.runs.c.seq == t.streams.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.streams.c.name == sa.bindparam("name"))
)
_LOCKED = _FIND.with_for_update(of=t.streams)
_TAIL = sa.select(t.stream_chunks.c.data).where(
    t.stream_chunks.c.stream_id == sa.bindparam("stream_id"), t.stream_chunks.c.start == sa.bindparam("start")
)
_PART = t.stream_chunks.c.stream_id == sa.bindparam("stream")
_FIRST = sa.select(sa.func.max(t.stream_chunks.c.start)).where(_PART, t.stream_chunks.c.start <= sa.bindparam("from"))
_RANGE = (
    sa.select(t.stream_chunks.c.start, t.stream_chunks.c.data)
    .where(_PART, t.stream_chunks.c.start >= _FIRST.scalar_subquery(), t.stream_chunks.c.start < sa.bindparam("to"))
    .order_by(t.stream_chunks.c.start)
)
_MAKE = sa.insert(t.streams).returning(t.streams.c.id)
_ADD = sa.insert(t.stream_chunks)
_GROW = (
    t.stream_chunks.update()
    .where(t.stream_chunks.c.stream_id == sa.bindparam("stream"), t.stream_chunks.c.start == sa.bindparam("at"))
    .values(data=sa.bindparam("data"))
)
_MARK = (
    t.streams.update()
    .where(t.streams.c.id == sa.bindparam("stream"))
    .values(size=sa.bindparam("size"), tail=sa.bindparam("tail"))
)


class SqlStreams:
    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False) -> int:
        def work(connection: sa.Connection) -> int:
            row = connection.execute(_LOCKED, {"run_id": run_id, "name": name}).one_or_none()
            if row is None:
                stream, size, tail = _make(connection, run_id, name), 0, 0
            else:
                stream, size, tail = row
            if reset and size:
                connection.execute(t.stream_chunks.delete().where(t.stream_chunks.c.stream_id == stream))
                connection.execute(_MARK, {"stream": stream, "size": 0, "tail": 0})
                size = tail = 0
            if offset != size or not data:
                return size
            tail = _write(connection, stream, tail, size, data)
            connection.execute(_MARK, {"stream": stream, "size": size + len(data), "tail": tail})
            return size + len(data)

        return self._database.write(work)

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        def work(connection: sa.Connection) -> bytes:
            row = _find(connection, run_id, name)
            if row is None or offset >= row.size or offset < 0 or limit <= 0:
                return b""
            found = connection.execute(_RANGE, {"stream": row.id, "from": offset, "to": offset + limit}).all()
            skip = offset - found[0].start
            return b"".join(chunk.data for chunk in found)[skip : skip + limit]

        return self._database.read(work)

    def size(self, run_id: str, name: str) -> int | None:
        row = self._database.read(lambda connection: _find(connection, run_id, name))
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


def _find(connection: sa.Connection, run_id: str, name: str) -> rows.Row | None:
    return connection.execute(_FIND, {"run_id": run_id, "name": name}).one_or_none()


def _make(connection: sa.Connection, run_id: str, name: str) -> int:
    values = {"run_seq": rows.run_seq(connection, run_id), "name": name, "size": 0, "tail": 0}
    return int(connection.execute(_MAKE, values).scalar_one())


def _write(connection: sa.Connection, stream: int, tail: int, size: int, data: bytes) -> int:
    """Writes `data` at `size`; where the last chunk begins now."""
    if size - tail > 0 and size - tail + len(data) <= _SMALL:
        before: bytes = connection.execute(_TAIL, {"stream_id": stream, "start": tail}).scalar_one()
        connection.execute(_GROW, {"stream": stream, "at": tail, "data": before + data})
        return tail
    starts = range(0, len(data), _CHUNK)
    pieces = [{"stream_id": stream, "start": size + at, "data": data[at : at + _CHUNK]} for at in starts]
    connection.execute(_ADD, pieces)
    return size + starts[-1]
