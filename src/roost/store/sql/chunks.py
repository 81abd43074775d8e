"""The bytes of a stream: the last few megabytes are rows, all earlier ones are pieces in files. Called inside a transaction.

A piece is stored first, and a row names it in the same transaction that moves the mark: mark and bytes agree even after a kill. A
piece that no row names is swept like any other blob.
"""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from roost.store.base import Pieces
from roost.store.sql import tables as t
from roost.store.sql.statements import Statement

CHUNK = 256 * 1024
_SMALL = 16 * 1024  # a last chunk below this is rewritten with the next bytes: cheap, and limits the number of rows
MOST_IN_ROWS = 4 * 1024 * 1024
_LARGE = 1024 * 1024  # after the first megabytes, this much at once goes directly to a file

_ROWS = t.stream_chunks.c
_IN_ROWS = _ROWS.stream_id == sa.bindparam("stream")
_AT = sa.and_(_IN_ROWS, _ROWS.start == sa.bindparam("at"))
_LAST = Statement(sa.select(_ROWS.data).where(_AT))
_GROW = Statement(t.stream_chunks.update().where(_AT))
_ADD = Statement(sa.insert(t.stream_chunks))
_FIRST_ROW = sa.select(sa.func.max(_ROWS.start)).where(_IN_ROWS, _ROWS.start <= sa.bindparam("low"))
_RANGE = Statement(
    sa.select(_ROWS.start, _ROWS.data)
    .where(_IN_ROWS, _ROWS.start >= _FIRST_ROW.scalar_subquery(), _ROWS.start < sa.bindparam("high"))
    .order_by(_ROWS.start)
)
_MOVED = Statement(
    t.stream_chunks.delete().where(_IN_ROWS, _ROWS.start >= sa.bindparam("low"), _ROWS.start < sa.bindparam("high"))
)
_EMPTY = Statement(t.stream_chunks.delete().where(_IN_ROWS))

_FILES = t.stream_files.c
_IN_FILES = _FILES.stream_id == sa.bindparam("stream")
_FIRST_FILE = sa.select(sa.func.max(_FILES.start)).where(_IN_FILES, _FILES.start <= sa.bindparam("low"))
_FILED = Statement(
    sa.select(_FILES.start, _FILES.size, _FILES.blob)
    .where(_IN_FILES, _FILES.start >= _FIRST_FILE.scalar_subquery(), _FILES.start < sa.bindparam("high"))
    .order_by(_FILES.start)
)
_NAME = Statement(sa.insert(t.stream_files))
_FORGET = Statement(t.stream_files.delete().where(_IN_FILES))


@dataclass(frozen=True, slots=True)
class Stream:
    """The values of its row; to change a stream, hold its lock."""

    id: int
    size: int
    tail: int
    """Offset of its last row of bytes."""
    merged: int | None
    """For a rank's log: bytes that are also in the run's log."""
    filed: int
    """Bytes from its start that are in files; the others are in rows."""


class Chunks:
    def __init__(self, pieces: Pieces | None) -> None:
        """Without `pieces`, all bytes are in rows."""
        self._pieces = pieces

    def extend(self, connection: sa.Connection, stream: Stream, data: bytes) -> Stream:
        """Adds bytes at its end; returns the stream's new row values."""
        size = stream.size + len(data)
        in_rows = size - stream.filed
        if self._pieces and (in_rows > MOST_IN_ROWS or (len(data) >= _LARGE and stream.size >= MOST_IN_ROWS)):
            before = _rows(connection, stream.id, stream.filed, stream.size)
            blob = self._pieces.put(before + data)
            _MOVED.run(connection, stream=stream.id, low=stream.filed, high=stream.size)
            _NAME.many(connection, [{"stream_id": stream.id, "start": stream.filed, "size": in_rows, "blob": blob}])
            return replace(stream, size=size, tail=size, filed=size)
        return replace(stream, size=size, tail=_write(connection, stream, data))

    def read(self, connection: sa.Connection, stream: Stream, start: int, end: int) -> bytes:
        """Bytes of [start, end); fewer beyond the stream's end, or when others have moved them since `stream` was read."""
        found: list[bytes] = []
        end = min(end, stream.size)
        if self._pieces and start < min(end, stream.filed):
            for piece in _FILED.all(connection, stream=stream.id, low=start, high=end):
                if piece.start > start:
                    return b"".join(found)
                length = min(end, piece.start + piece.size) - start
                found.append(b"".join(self._pieces.open(piece.blob, start - piece.start, length)))
                start += length
        if start < end:
            found.append(_rows(connection, stream.id, start, end))
        return b"".join(found)

    def empty(self, connection: sa.Connection, stream: Stream) -> Stream:
        _EMPTY.run(connection, stream=stream.id)
        _FORGET.run(connection, stream=stream.id)
        return replace(stream, size=0, tail=0, filed=0)


def _rows(connection: sa.Connection, stream: int, start: int, end: int) -> bytes:
    found = _RANGE.all(connection, stream=stream, low=start, high=end) if start < end else []
    return b"".join(row.data for row in found)[start - found[0].start : end - found[0].start] if found else b""


def _write(connection: sa.Connection, stream: Stream, data: bytes) -> int:
    """Writes rows at the stream's end; returns the offset of the last one."""
    size, tail = stream.size, stream.tail
    if size - tail > 0 and size - tail + len(data) <= _SMALL:
        (before,) = _LAST.all(connection, stream=stream.id, at=tail)
        _GROW.run(connection, stream=stream.id, at=tail, data=before.data + data)
        return tail
    starts = range(0, len(data), CHUNK)
    _ADD.many(
        connection, [{"stream_id": stream.id, "start": size + at, "data": data[at : at + CHUNK]} for at in starts]
    )
    return size + starts[-1]
