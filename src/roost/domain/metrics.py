"""Metrics: spool bytes → packed series (`decode`), packed series → what a person logged (`read_back`), → a chart (`thin`).

A Series holds points of one metric from one spool, all of one encoding, as three packed columns (array module, native
little-endian doubles and 64-bit integers) or, for objects, one JSON text per line. It is what is stored: no row per point.
"""

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from zlib import crc32

from roost_job import records

MAX_NAME = 1024


class Encoding(StrEnum):
    FLOAT = "float"
    INT = "int"
    OBJECT = "object"


class Space(StrEnum):
    USER = "user"
    SYSTEM = "system"
    """What the agent measures of the node; `get_metrics` leaves it out."""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    encoding: Encoding
    count: int
    steps: bytes
    """int64 each; `records.NO_STEP` for none."""
    times: bytes
    """float64 each, seconds since the epoch."""
    values: bytes
    """float64 or int64 each; for objects, JSON texts each ended by a line break."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a stretch of a spool holds."""

    consumed: int
    """Bytes of whole, valid frames; the rest is not there yet, or never will be."""
    names: Mapping[int, str]
    """Names interned in this stretch."""
    series: Sequence[Series]
    space: Space | None
    """From the header, when it is in this stretch."""
    damaged: bool
    """A frame that is all there fails its checksum: nothing after it can be read."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value as it is read back; `value` is a number, or the object that was logged with its kind."""

    time: float
    step: int | None
    value: Any
    kind: str = "scalar"


@dataclass(slots=True)
class _Columns:
    name: str
    encoding: Encoding
    steps: "array[int]" = field(default_factory=lambda: array("q"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: Any = None

    def pack(self) -> Series:
        values = b"".join(self.values) if self.encoding is Encoding.OBJECT else self.values.tobytes()
        return Series(self.name, self.encoding, len(self.times), self.steps.tobytes(), self.times.tobytes(), values)


_CODES = {records.FLOAT: Encoding.FLOAT, records.INT: Encoding.INT, records.OBJECT: Encoding.OBJECT}
_EMPTY: dict[Encoding, Any] = {
    Encoding.FLOAT: lambda: array("d"),
    Encoding.INT: lambda: array("q"),
    Encoding.OBJECT: list,
}


def decode(data: bytes, names: Mapping[int, str]) -> Batch:
    """The whole frames of `data`, which starts at a frame. `names` are those interned before; nothing is assumed of the rest.

    A frame of an unknown kind, or of a name that was never interned, is passed over. Written for speed: most frames
    are numbers of one size.
    """
    known, fresh, space = dict(names), {}, None
    open_columns: dict[int, _Columns] = {}
    done: list[_Columns] = []
    size, start = len(data), 0
    number_size = records.FLOAT_BODY.size
    unpack_frame, unpack_float, unpack_int = (
        records.FRAME.unpack_from,
        records.FLOAT_BODY.unpack_from,
        records.INT_BODY.unpack_from,
    )
    view = memoryview(data)
    damaged = False
    while size - start >= 8:
        length, checksum = unpack_frame(data, start)
        at = start + 8
        end = at + length
        if length == 0 or length > records.MAX_BODY:
            damaged = True
            break
        if end > size:
            break
        if crc32(view[at:end]) != checksum:
            damaged = True
            break
        kind = data[at]
        if length == number_size and (kind == records.FLOAT or kind == records.INT):
            _, number, step, time, value = (unpack_float if kind == records.FLOAT else unpack_int)(data, at)
            columns = open_columns.get(number)
            if columns is None or columns.encoding is not _CODES[kind]:
                columns = _open(number, kind, known, open_columns, done)
            if columns is not None:
                columns.steps.append(step)
                columns.times.append(time)
                columns.values.append(value)
        elif kind == records.OBJECT and length > records.OBJECT_HEAD.size:
            _, number, step, time = records.OBJECT_HEAD.unpack_from(data, at)
            columns = open_columns.get(number)
            if columns is None or columns.encoding is not Encoding.OBJECT:
                columns = _open(number, kind, known, open_columns, done)
            if columns is not None:
                columns.steps.append(step)
                columns.times.append(time)
                columns.values.append(bytes(view[at + records.OBJECT_HEAD.size : end]).replace(b"\n", b" ") + b"\n")
        elif kind == records.NAME and length > records.NAME_HEAD.size:
            _, number = records.NAME_HEAD.unpack_from(data, at)
            known[number] = fresh[number] = bytes(view[at + 5 : end]).decode("utf-8", "replace")[:MAX_NAME]
        elif kind == records.HEADER:
            space = _space(bytes(view[at + 1 : end]))
        start = end
    series = [columns.pack() for columns in (*done, *open_columns.values())]
    return Batch(start, fresh, series, space, damaged)


def _open(
    number: int, kind: int, known: Mapping[int, str], open_columns: dict[int, _Columns], done: list[_Columns]
) -> _Columns | None:
    """New columns for a metric whose first point, or first point of another encoding, came."""
    if number not in known:
        return None
    if number in open_columns:
        done.append(open_columns.pop(number))
    encoding = _CODES[kind]
    open_columns[number] = columns = _Columns(known[number], encoding, values=_EMPTY[encoding]())
    return columns


def _space(text: bytes) -> Space:
    try:
        return Space(json.loads(text).get("space", "user"))
    except (ValueError, AttributeError):
        return Space.USER


def points(series: Series) -> list[Point]:
    """A series' points in the order they were logged."""
    steps = array("q", series.steps)
    times = array("d", series.times)
    plain = [None if step == records.NO_STEP else step for step in steps]
    if series.encoding is Encoding.OBJECT:
        objects = [_object(text) for text in series.values.split(b"\n")[:-1]]
        return [Point(t, s, o["value"], o["kind"]) for t, s, o in zip(times, plain, objects, strict=True)]
    values = array("d" if series.encoding is Encoding.FLOAT else "q", series.values)
    return [Point(t, s, v) for t, s, v in zip(times, plain, values, strict=True)]


def _object(text: bytes) -> dict[str, Any]:
    """What the log call wrote; a text that is not that shape is shown as it stands rather than lost."""
    try:
        parsed = json.loads(text)
        return {"kind": str(parsed["kind"]), "value": parsed["value"]}
    except (ValueError, KeyError, TypeError):
        return {"kind": "text", "value": text.decode("utf-8", "replace")}


def in_order(by_spool: Sequence[Sequence[Point]]) -> list[Point]:
    """The points of several spools as one sequence: each spool's own order is kept, between spools time decides."""
    if len(by_spool) == 1:
        return list(by_spool[0])
    return sorted((point for sequence in by_spool for point in sequence), key=lambda point: point.time)


def read_back(found: Sequence[Point]) -> Any:
    """What `get_metrics` shows for one metric, as the Azure ML SDK v1 does.

    A value logged once is that value, several times a list; rows and tables are a dict of columns, a column of one cell
    being that cell. Kinds that are shown by a document (images, confusion matrices) are their address or document.
    """
    if not found:
        return []
    kind = found[-1].kind
    if kind in ("row", "table"):
        return _columns(point.value for point in found if isinstance(point.value, dict))
    values: list[Any] = []
    for point in found:
        values.extend(point.value if point.kind == "list" else [point.value])
    return values[0] if len(values) == 1 else values


def _columns(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    for row in cells:
        for name, cell in row.items():
            columns.setdefault(name, []).extend(cell if isinstance(cell, list) else [cell])
    return {name: cells[0] if len(cells) == 1 else cells for name, cells in columns.items()}


def thin(values: Sequence[float], buckets: int) -> list[int]:
    """Indexes to draw: for each stretch of equal length its lowest and highest finite value, in order, and both ends.

    Peaks survive, whatever the number of points. At most 2 × buckets + 2 indexes; all of them when there are no more.
    """
    count = len(values)
    if count <= 2 * buckets + 2:
        return list(range(count))
    chosen = {0, count - 1}
    for bucket in range(buckets):
        low, high = bucket * count // buckets, (bucket + 1) * count // buckets
        stretch = values[low:high]
        least, most = min(stretch), max(stretch)
        if math.isfinite(least) and math.isfinite(most):
            chosen.add(low + stretch.index(least))
            chosen.add(low + stretch.index(most))
        else:
            finite = [i for i, value in enumerate(stretch) if math.isfinite(value)]
            if finite:
                chosen.add(low + min(finite, key=stretch.__getitem__))
                chosen.add(low + max(finite, key=stretch.__getitem__))
    return sorted(chosen)
