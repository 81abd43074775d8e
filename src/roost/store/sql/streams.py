"""Streams: chunks of bytes by offset. Small appends grow the last chunk, so a chatty script leaves no row per line."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from roost.store.base import Merge
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database
from roost.store.sql.statements import Statement

_CHUNK = 256 * 1024
_SMALL = 16 * 1024  # a last chunk below this is written again with what follows: cheap, and bounds the number of rows
_LONGEST_LINE = 64 * 1024
"""Of a merged stream: a longer one, such as a progress bar that never breaks its line, is broken."""

_STREAM = (
    sa.select(t.streams.c.id, t.streams.c.size, t.streams.c.tail, t.streams.c.merged)
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
_REMOVE = Statement(t.stream_chunks.delete().where(_CHUNK_AT))
_STARTS = Statement(sa.select(t.stream_chunks.c.start).where(_PART).order_by(t.stream_chunks.c.start))
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

    def append(
        self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False, into: Merge | None = None
    ) -> int:
        def work(connection: sa.Connection) -> int:
            # The merged stream first, always: then two ranks that come at once wait, and do not deadlock.
            whole = _LOCK.one(connection, run_id=run_id, name=into.name) if into else None
            row = _LOCK.one(connection, run_id=run_id, name=name)
            if row is None:
                stream, size, tail, merged = _make(connection, run_id, name), 0, 0, None
            else:
                stream, size, tail, merged = row
            if reset and size:
                _EMPTY.run(connection, stream=stream)
                _MARK.run(connection, stream=stream, size=0, tail=0, merged=None)
                size = tail = 0
                if into and merged and whole is not None:
                    _unmerge(connection, whole.id, into.prefix)
                    merged, whole = None, _FIND.one(connection, run_id=run_id, name=into.name)
            if offset != size or not data:
                return size
            tail = _write(connection, stream, tail, size, data)
            _MARK.run(connection, stream=stream, size=size + len(data), tail=tail)
            if into:
                start, high = merged or 0, size + len(data)
                end = offset + data.rfind(b"\n") + 1 if b"\n" in data else start
                _merge(connection, run_id, stream, start, high if high - end >= _LONGEST_LINE else end, into, whole)
            return size + len(data)

        return self._database.write(work)

    def merge_rest(self, run_id: str, name: str, into: Merge) -> None:
        def work(connection: sa.Connection) -> None:
            whole = _LOCK.one(connection, run_id=run_id, name=into.name)
            row = _LOCK.one(connection, run_id=run_id, name=name)
            if row is not None:
                _merge(connection, run_id, row.id, row.merged or 0, row.size, into, whole)

        self._database.write(work)

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        def work(connection: sa.Connection) -> bytes:
            row = _FIND.one(connection, run_id=run_id, name=name)
            if row is None or offset >= row.size or offset < 0 or limit <= 0:
                return b""
            return _read(connection, row.id, offset, offset + limit)

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


def _merge(
    connection: sa.Connection, run_id: str, stream: int, start: int, end: int, into: Merge, whole: Any | None
) -> None:
    """Adds what a stream has between the two to the merged one, line by line, each with its prefix; a chunk at a time."""
    if end <= start:
        return
    to, size, tail = (_make(connection, run_id, into.name), 0, 0) if whole is None else whole[:3]
    while start < end:
        text = _read(connection, stream, start, min(end, start + _CHUNK))
        if start + len(text) < end:
            text = text[: text.rfind(b"\n") + 1] or text
        start += len(text)
        data = b"".join(into.prefix + line + b"\n" for line in text.removesuffix(b"\n").split(b"\n"))
        tail = _write(connection, to, tail, size, data)
        size += len(data)
    _MARK.run(connection, stream=to, size=size, tail=tail)
    _MARK.run(connection, stream=stream, merged=end)


def _unmerge(connection: sa.Connection, stream: int, prefix: bytes) -> None:
    """A rank's log has become another, perhaps because it had a secret in it: its lines are taken out of the merged one."""
    size, tail, rest = 0, 0, b""
    for (at,) in _STARTS.all(connection, stream=stream):
        (chunk,) = _TAIL.all(connection, stream=stream, at=at)
        _REMOVE.run(connection, stream=stream, at=at)  # what is kept never reaches further than what was read
        *lines, rest = (rest + chunk.data).split(b"\n")
        if kept := b"".join(line + b"\n" for line in lines if not line.startswith(prefix)):
            tail = _write(connection, stream, tail, size, kept)
            size += len(kept)
    _MARK.run(connection, stream=stream, size=size, tail=tail)


def _read(connection: sa.Connection, stream: int, start: int, end: int) -> bytes:
    found = _RANGE.all(connection, stream=stream, low=start, high=end)
    return b"".join(chunk.data for chunk in found)[start - found[0].start : end - found[0].start]


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
