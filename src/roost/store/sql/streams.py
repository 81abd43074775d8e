"""Streams: bytes by offset, with a mark that moves in the transaction that stores the bytes. `chunks.py` stores the bytes."""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from roost.store.base import Merge, Pieces
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.chunks import CHUNK, Chunks, Stream
from roost.store.sql.engine import Database
from roost.store.sql.statements import Statement

_LONGEST_LINE = 64 * 1024
"""Longest line of a merged stream: a longer one, such as a progress bar without line breaks, is broken."""
_LOOKS = 10
"""Tries to read a stream that others change meanwhile, where a read is not one snapshot."""
_ASIDE = "\n"
"""Suffix of a stream's name: its old content while it is rewritten. No path contains it, and no transaction ends with it."""

_STREAM = (
    sa.select(t.streams.c.id, t.streams.c.size, t.streams.c.tail, t.streams.c.merged, t.streams.c.filed)
    .join(t.runs, t.runs.c.seq == t.streams.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.streams.c.name == sa.bindparam("name"))
)
_FIND = Statement(_STREAM)
_LOCK = Statement(_STREAM.with_for_update(of=t.streams))
_MAKE = Statement(sa.insert(t.streams).returning(t.streams.c.id))
_MARK = Statement(t.streams.update().where(t.streams.c.id == sa.bindparam("stream")))
_DROP = Statement(t.streams.delete().where(t.streams.c.id == sa.bindparam("stream")))
_MOVE_ROWS = Statement(t.stream_chunks.update().where(t.stream_chunks.c.stream_id == sa.bindparam("stream")))
_MOVE_FILES = Statement(t.stream_files.update().where(t.stream_files.c.stream_id == sa.bindparam("stream")))


class SqlStreams:
    def __init__(self, database: Database, pieces: Pieces | None = None) -> None:
        self._database = database
        self._chunks = Chunks(pieces)

    def append(
        self, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False, into: Merge | None = None
    ) -> int:
        def work(connection: sa.Connection) -> int:
            # Always lock the merged stream first, so that two ranks at once wait and do not deadlock.
            whole = _locked(connection, run_id, into.name) if into else None
            stream = _locked(connection, run_id, name) or _make(connection, run_id, name)
            if reset and stream.size:
                merged = stream.merged
                stream = replace(self._chunks.empty(connection, stream), merged=None)
                _mark(connection, stream)
                if into and merged and whole is not None:
                    whole = self._unmerge(connection, run_id, whole, into)
            if offset != stream.size or not data:
                return stream.size
            stream = self._chunks.extend(connection, stream, data)
            _mark(connection, stream)
            if into:
                start = stream.merged or 0
                end = offset + data.rfind(b"\n") + 1 if b"\n" in data else start
                end = stream.size if stream.size - end >= _LONGEST_LINE else end
                self._merge(connection, run_id, stream, end, into, whole)
            return stream.size

        return self._database.write(work)

    def merge_rest(self, run_id: str, name: str, into: Merge) -> None:
        def work(connection: sa.Connection) -> None:
            whole = _locked(connection, run_id, into.name)
            stream = _locked(connection, run_id, name)
            if stream is not None:
                self._merge(connection, run_id, stream, stream.size, into, whole)

        self._database.write(work)

    def read(self, run_id: str, name: str, offset: int, limit: int) -> bytes:
        def work(connection: sa.Connection) -> bytes | None:
            row = _FIND.one(connection, run_id=run_id, name=name)
            if row is None or offset >= row.size or offset < 0 or limit <= 0:
                return b""
            found = self._chunks.read(connection, stream := _stream(row), offset, offset + limit)
            return found if len(found) == min(limit, stream.size - offset) else None

        for _ in range(_LOOKS):
            if (found := self._database.read(work)) is not None:
                return found
        return b""

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

    def _merge(
        self, connection: sa.Connection, run_id: str, stream: Stream, end: int, into: Merge, whole: Stream | None
    ) -> None:
        """Adds a stream's bytes up to `end` to the merged one, line by line, each with its prefix; one chunk at a time."""
        start = stream.merged or 0
        if end <= start:
            return
        whole = whole or _make(connection, run_id, into.name)
        while start < end:
            text = self._chunks.read(connection, stream, start, min(end, start + CHUNK))
            if start + len(text) < end:
                text = text[: text.rfind(b"\n") + 1] or text
            start += len(text)
            data = b"".join(into.prefix + line + b"\n" for line in text.removesuffix(b"\n").split(b"\n"))
            whole = self._chunks.extend(connection, whole, data)
        _mark(connection, whole)
        _mark(connection, replace(stream, merged=end))

    def _unmerge(self, connection: sa.Connection, run_id: str, whole: Stream, into: Merge) -> Stream:
        """Removes a rank's lines from the merged stream when its log was replaced, perhaps because it contained a secret."""
        aside = replace(whole, id=_make(connection, run_id, into.name + _ASIDE).id)
        _MOVE_ROWS.run(connection, stream=whole.id, stream_id=aside.id)
        _MOVE_FILES.run(connection, stream=whole.id, stream_id=aside.id)
        kept = replace(whole, size=0, tail=0, filed=0)
        at, rest = 0, b""
        while text := self._chunks.read(connection, aside, at, at + CHUNK):
            at += len(text)
            *lines, rest = (rest + text).split(b"\n")
            if data := b"".join(line + b"\n" for line in lines if not line.startswith(into.prefix)):
                kept = self._chunks.extend(connection, kept, data)
        _mark(connection, kept)
        _DROP.run(connection, stream=aside.id)
        return kept


def _locked(connection: sa.Connection, run_id: str, name: str) -> Stream | None:
    row = _LOCK.one(connection, run_id=run_id, name=name)
    return None if row is None else _stream(row)


def _stream(row: tuple[int, int, int, int | None, int | None]) -> Stream:
    return Stream(*row[:4], row[4] or 0)


def _make(connection: sa.Connection, run_id: str, name: str) -> Stream:
    (made,) = _MAKE.all(connection, run_seq=rows.run_seq(connection, run_id), name=name, size=0, tail=0)
    return Stream(int(made.id), 0, 0, None, 0)


def _mark(connection: sa.Connection, stream: Stream) -> None:
    _MARK.run(
        connection, stream=stream.id, size=stream.size, tail=stream.tail, merged=stream.merged, filed=stream.filed
    )
