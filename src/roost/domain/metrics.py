"""Metrics: spool bytes → packed series (`decode`), packed series → what a person logged (`read_back`), → a chart (`chart`).

A Series holds points of one metric from one spool, all of one encoding, as three packed columns (array module, native
little-endian doubles and 64-bit integers) or, for objects, one JSON text per line. It is what is stored: no row per point.
A metric that was logged as whole and as broken numbers in turn is kept as objects of the kind "scalar".
"""

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat, starmap
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple
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
    """One per metric."""
    space: Space | None
    """From the header, when it is in this stretch."""
    damaged: bool
    """A frame that is all there fails its checksum: nothing after it can be read."""


class Point(NamedTuple):
    """One value as it is read back; `value` is a number, or the object that was logged with its kind."""

    time: float
    step: int | None
    value: Any
    kind: str = "scalar"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of some points without looking at them again."""

    kind: str
    """Of the last point."""
    count: int
    numeric: bool
    """At least one was a number; `last` is the last of those."""
    last: float | None
    least: float | None
    """Of the finite ones."""
    most: float | None
    last_step: int | None
    last_at: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The points to draw, as columns."""

    count: int
    """Of all points, drawn or not."""
    indexes: Sequence[int]
    """Where each stands among all points."""
    steps: Sequence[int | None]
    times: Sequence[float]
    values: Sequence[float]


# Spool bytes → series.

_NUMBER = records.FLOAT_BODY.size
_STRIDE = records.FRAME.size + _NUMBER
_LENGTH = _NUMBER.to_bytes(4, "little")
_KINDS = bytes([records.FLOAT, records.INT])
_FIXED = [*((at, bytes([byte])) for at, byte in enumerate(_LENGTH)), (records.FRAME.size, _KINDS)]
"""What is the same in all frames of numbers: where in the frame, and the bytes it may be."""
_BODIES = Struct(f"<{records.FRAME.size}x{_NUMBER}s")
_LEAST_STRETCH, _WIDEST_LOOK = 8, 1 << 16


def decode(data: bytes, names: Mapping[int, str]) -> Batch:
    """The whole frames of `data`, which starts at a frame. `names` are those interned before; nothing is assumed of the rest.

    A frame of an unknown kind, or of a name that was never interned, is passed over. Most frames are numbers, all of one
    size: stretches of those are taken column by column, the rest frame by frame.
    """
    known, fresh, space = dict(names), {}, None
    pieces: dict[str, list[Series]] = {}
    size, start, look, damaged = len(data), 0, _LEAST_STRETCH, False
    while size - start >= records.FRAME.size:
        count = _count_numbers(data, start, look)
        if count >= _LEAST_STRETCH:
            valid = _count_valid(data, start, count)
            _take_numbers(data, start, valid, known, pieces)
            start += valid * _STRIDE
            if valid < count:
                damaged = True
                break
            look = min(look * 8, _WIDEST_LOOK) if count == look else _LEAST_STRETCH
            continue
        length, checksum = records.FRAME.unpack_from(data, start)
        at = start + records.FRAME.size
        end = at + length
        if 0 < length <= records.MAX_BODY and end > size:
            break
        body = data[at:end]
        if not 0 < length <= records.MAX_BODY or crc32(body) != checksum:
            damaged = True
            break
        kind = body[0]
        if kind in _KINDS and length == _NUMBER:
            _take_number(body, known, pieces)
        elif kind == records.OBJECT and length > records.OBJECT_HEAD.size:
            _take_object(body, known, pieces)
        elif kind == records.NAME and length > records.NAME_HEAD.size:
            _, number = records.NAME_HEAD.unpack_from(body)
            known[number] = fresh[number] = body[records.NAME_HEAD.size :].decode("utf-8", "replace")[:MAX_NAME]
        elif kind == records.HEADER:
            space = _space(body[1:])
        start = end
    return Batch(start, fresh, [join(parts) for parts in pieces.values()], space, damaged)


def _count_numbers(data: bytes, start: int, look: int) -> int:
    """How many of the next frames are numbers, looking at so many. A glance ahead saves the look where it is plain that there is
    no stretch of them."""
    glance = start + (_LEAST_STRETCH - 1) * _STRIDE
    if data[glance : glance + 4] != _LENGTH:
        return 0
    most = min(look, (len(data) - start) // _STRIDE)
    end = start + most * _STRIDE
    for at, allowed in _FIXED:
        column = data[start + at : end : _STRIDE]
        most = min(most, len(column) - len(column.lstrip(allowed)))
    return most


def _count_valid(data: bytes, start: int, count: int) -> int:
    """How many of these frames of numbers, from the first on, have the right checksum."""
    found = array("I", starmap(crc32, _BODIES.iter_unpack(memoryview(data)[start : start + count * _STRIDE])))
    written = _column(data, start + 4, count, "I")
    if found == written:
        return count
    return next(i for i, (a, b) in enumerate(zip(found, written, strict=True)) if a != b)


def _column(data: bytes, at: int, count: int, code: str) -> "array[Any]":
    """One field of `count` equal frames, packed: the first bytes of all, then the second ones, and so on; no loop over points."""
    column = array(code)
    width = column.itemsize
    packed = bytearray(width * count)
    for byte in range(width):
        packed[byte::width] = data[at + byte : at + byte + (count - 1) * _STRIDE + 1 : _STRIDE]
    column.frombytes(packed)
    return column


def _take_numbers(
    data: bytes, start: int, count: int, known: Mapping[int, str], pieces: dict[str, list[Series]]
) -> None:
    """Frames of numbers, all valid, sorted by metric. Values stay as they are, eight bytes each, whatever they mean."""
    if not count:
        return
    body = start + records.FRAME.size
    kinds = data[body : body + count * _STRIDE : _STRIDE]
    numbers = _column(data, body + 1, count, "I")
    steps, times, values = (_column(data, body + at, count, "q") for at in (5, 13, 21))
    if numbers.count(numbers[0]) == count:
        groups: dict[int, Sequence[int]] = {numbers[0]: range(count)}
    else:
        groups = {}
        for row, number in enumerate(numbers):
            groups.setdefault(number, []).append(row)  # type: ignore[attr-defined]  # these are lists
    for number, rows in groups.items():
        name = known.get(number)
        if name is not None:
            columns = [_pick(column, rows) for column in (steps, times, values)]
            pieces.setdefault(name, []).append(_series(name, _pick(kinds, rows), *columns))


def _pick(column: Any, rows: Sequence[int]) -> bytes:
    """These rows of a column, packed."""
    if len(rows) == len(column):
        return bytes(column)
    if len(rows) == 1:
        return bytes(column[rows[0] : rows[0] + 1])
    chosen = itemgetter(*rows)(column)
    return bytes(chosen) if isinstance(column, bytes) else array(column.typecode, chosen).tobytes()


def _series(name: str, kinds: bytes, steps: bytes, times: bytes, values: bytes) -> Series:
    if not kinds.strip(kinds[:1]):
        encoding = Encoding.FLOAT if kinds[0] == records.FLOAT else Encoding.INT
        return Series(name, encoding, len(kinds), steps, times, values)
    numbers = zip(kinds, array("d", values), array("q", values), strict=True)
    texts = _texts(broken if kind == records.FLOAT else whole for kind, broken, whole in numbers)
    return Series(name, Encoding.OBJECT, len(kinds), steps, times, texts)


def _take_number(body: bytes, known: Mapping[int, str], pieces: dict[str, list[Series]]) -> None:
    name = known.get(int.from_bytes(body[1:5], "little"))
    if name is not None:
        pieces.setdefault(name, []).append(_series(name, body[:1], body[5:13], body[13:21], body[21:]))


def _take_object(body: bytes, known: Mapping[int, str], pieces: dict[str, list[Series]]) -> None:
    name = known.get(int.from_bytes(body[1:5], "little"))
    if name is not None:
        text = body[records.OBJECT_HEAD.size :].replace(b"\n", b" ") + b"\n"
        pieces.setdefault(name, []).append(Series(name, Encoding.OBJECT, 1, body[5:13], body[13:21], text))


def _space(text: bytes) -> Space:
    try:
        return Space(json.loads(text).get("space", "user"))
    except (ValueError, AttributeError):
        return Space.USER


# Series by themselves.

_SCALAR = b'{"kind": "scalar", "value": '


def _texts(numbers: Iterable[float]) -> bytes:
    """Numbers as the texts of objects."""
    return b"".join(_SCALAR + json.dumps(number).encode() + b"}\n" for number in numbers)


def numbers(series: Series) -> "array[float] | array[int]":
    """The values of a series of numbers."""
    return array("d" if series.encoding is Encoding.FLOAT else "q", series.values)


def join(parts: Sequence[Series]) -> Series:
    """One series of several of one metric, in this order; of objects when they are not all of one encoding."""
    if len(parts) == 1:
        return parts[0]
    encoding = parts[0].encoding
    if any(part.encoding is not encoding for part in parts):
        encoding = Encoding.OBJECT
    values = [
        part.values if part.encoding is encoding else _texts(numbers(part))  # a text is a text already
        for part in parts
    ]
    return Series(
        parts[0].name,
        encoding,
        sum(part.count for part in parts),
        b"".join(part.steps for part in parts),
        b"".join(part.times for part in parts),
        b"".join(values),
    )


def summarize(series: Series) -> Summary:
    """Of a series with at least one point."""
    kind = "scalar"
    if series.encoding is Encoding.OBJECT:
        texts = series.values.split(b"\n")[:-1]
        kind = _object(texts[-1])["kind"]
        found = (_number(_object(text)["value"]) for text in texts if text.startswith(_SCALAR))
        values: Sequence[float] = [value for value in found if value is not None]
    else:
        values = numbers(series)
    ends = _ends(values)
    (step,) = array("q", series.steps[-8:])
    (time,) = array("d", series.times[-8:])
    return Summary(
        kind=kind,
        count=series.count,
        numeric=len(values) > 0,
        last=float(values[-1]) if values else None,
        least=ends[0] if ends else None,
        most=ends[1] if ends else None,
        last_step=None if step == records.NO_STEP else step,
        last_at=time,
    )


def add(before: Summary, later: Summary) -> Summary:
    """Of both, `later` having come after."""
    leasts = [least for least in (before.least, later.least) if least is not None]
    mosts = [most for most in (before.most, later.most) if most is not None]
    return Summary(
        kind=later.kind,
        count=before.count + later.count,
        numeric=before.numeric or later.numeric,
        last=later.last if later.numeric else before.last,
        least=min(leasts, default=None),
        most=max(mosts, default=None),
        last_step=later.last_step,
        last_at=later.last_at,
    )


def _number(value: object) -> float | None:
    """None for what is no number, or one too large to be drawn."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _ends(values: Sequence[float]) -> tuple[float, float] | None:
    """The least and the greatest finite value. A NaN spoils `min` and `max` only where it comes first, and then shows."""
    if not len(values):
        return None
    least, most = min(values), max(values)
    if not (math.isfinite(least) and math.isfinite(most)):
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return None
        least, most = min(finite), max(finite)
    return float(least), float(most)


# Series → what a person sees.


def points(series: Series) -> list[Point]:
    """A series' points in the order they were logged."""
    steps = array("q", series.steps)
    times = array("d", series.times)
    plain = [None if step == records.NO_STEP else step for step in steps]
    if series.encoding is Encoding.OBJECT:
        objects = [_object(text) for text in series.values.split(b"\n")[:-1]]
        return [Point(t, s, o["value"], o["kind"]) for t, s, o in zip(times, plain, objects, strict=True)]
    return list(map(Point._make, zip(times, plain, numbers(series), repeat("scalar"), strict=False)))


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
        if _is_list(point):
            values.extend(point.value)
        else:
            values.append(point.value)
    return values[0] if len(values) == 1 else values


def _is_list(point: Point) -> bool:
    return point.kind == "list" and isinstance(point.value, list)


def _columns(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    for row in cells:
        for name, cell in row.items():
            columns.setdefault(name, []).extend(cell if isinstance(cell, list) else [cell])
    return {name: cells[0] if len(cells) == 1 else cells for name, cells in columns.items()}


def chart(by_spool: Sequence[Sequence[Series]], buckets: int) -> Chart:
    """A metric's points thinned for drawing, those of several spools in the order of their times. Numbers only: a list is as
    many points as it has numbers, and what is no number is left out. No object per point: a million take a moment."""
    parts = [part for parts in by_spool for part in parts]
    if any(part.encoding is Encoding.OBJECT for part in parts):
        parts = [_only_numbers(part) if part.encoding is Encoding.OBJECT else part for part in parts]
    if all(part.encoding is Encoding.INT for part in parts):
        values: array[Any] = array("q", b"".join(part.values for part in parts))
    else:
        values = array("d")
        for part in parts:
            values.extend(numbers(part) if part.encoding is Encoding.FLOAT else map(float, numbers(part)))
    times = array("d", b"".join(part.times for part in parts))
    steps = array("q", b"".join(part.steps for part in parts))
    order: Sequence[int] = range(len(values))
    if len(by_spool) > 1:
        order = sorted(order, key=times.__getitem__)  # sorted keeps each spool's own order where times are equal
        values = array(values.typecode, map(values.__getitem__, order))
    indexes = thin(values, buckets)
    rows = [order[index] for index in indexes]
    return Chart(
        count=len(values),
        indexes=indexes,
        steps=[None if steps[row] == records.NO_STEP else steps[row] for row in rows],
        times=[times[row] for row in rows],
        values=[values[index] for index in indexes],
    )


def _only_numbers(series: Series) -> Series:
    """The numbers among a series of objects, as a series of numbers."""
    steps, times, values = array("q"), array("d"), array("d")
    for point in points(series):
        for value in map(_number, point.value if _is_list(point) else (point.value,)):
            if value is not None:
                steps.append(records.NO_STEP if point.step is None else point.step)
                times.append(point.time)
                values.append(value)
    return Series(series.name, Encoding.FLOAT, len(values), steps.tobytes(), times.tobytes(), values.tobytes())


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
        stretch = list(values[low:high])
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
