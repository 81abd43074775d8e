"""Metrics: packed series → the logged values (`read_back`), → a chart (`chart`). `spools.py` makes series of a spool's bytes.

A Series holds points of one metric from one spool, all of one encoding, as three packed columns (array module, native
little-endian doubles and 64-bit integers) or, for objects, one JSON text per line. The store holds series, not one row per point.
A metric with both integers and floats is stored as objects of the kind "scalar".
"""

import json
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from typing import Any, NamedTuple

from roost_job.tracking import records


class Encoding(StrEnum):
    FLOAT = "float"
    INT = "int"
    OBJECT = "object"


class Space(StrEnum):
    USER = "user"
    SYSTEM = "system"
    """The agent's measurements of the node; `get_metrics` leaves them out."""


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
    """float64 or int64 each; for objects, JSON texts, each ended by a line break."""


class Point(NamedTuple):
    """One value as it is read back; `value` is a number, or the logged object with its kind."""

    time: float
    step: int | None
    value: Any
    kind: str = "scalar"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of some points, so that they need not be read again."""

    kind: str
    """The kind of the last point."""
    count: int
    numeric: bool
    """True when at least one point is a number; `last` is the last number."""
    last: float | None
    least: float | None
    """Of the finite numbers."""
    most: float | None
    last_step: int | None
    last_at: float
    text: str | None = None
    """The last point as a short text when it is not a number; None when it has no short text."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The points to draw, as columns."""

    count: int
    """Number of all points, drawn or not."""
    indexes: Sequence[int]
    """Index of each drawn point among all points."""
    steps: Sequence[int | None]
    times: Sequence[float]
    values: Sequence[float]


_SCALAR = b'{"kind": "scalar", "value": '
LONGEST_TEXT = 200


def texts(numbers: Iterable[float]) -> bytes:
    """Numbers in the encoding of objects."""
    return b"".join(_SCALAR + json.dumps(number).encode() + b"}\n" for number in numbers)


def numbers(series: Series) -> "array[float] | array[int]":
    """The values of a series of numbers."""
    return array("d" if series.encoding is Encoding.FLOAT else "q", series.values)


def join(parts: Sequence[Series]) -> Series:
    """Joins several series of one metric, in this order; the result has objects when the encodings differ."""
    if len(parts) == 1:
        return parts[0]
    encoding = parts[0].encoding
    if any(part.encoding is not encoding for part in parts):
        encoding = Encoding.OBJECT
    values = [
        part.values if part.encoding is encoding else texts(numbers(part))  # object parts are texts already
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
    """The summary of a series with at least one point."""
    kind, text = "scalar", None
    if series.encoding is Encoding.OBJECT:
        texts = series.values.split(b"\n")[:-1]
        last = _object(texts[-1])
        kind, text = last["kind"], _in_words(last["kind"], last["value"])
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
        text=text,
    )


def add(before: Summary, later: Summary) -> Summary:
    """The summary of both; `later` follows `before`."""
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
        text=later.text,
    )


def _in_words(kind: str, value: Any) -> str | None:
    """One short line for a point that is not a number. None for documents and pictures: their kind is more useful than an
    address."""
    if kind == "list" and isinstance(value, list):
        return _in_words("item", value[-1]) if value else None
    if kind == "row" and isinstance(value, dict):
        return _short(", ".join(f"{name}={_in_words('item', cell)}" for name, cell in value.items()))
    if kind not in ("text", "flag", "none", "item"):
        return None
    if isinstance(value, float):
        return json.dumps(value)  # NaN and Infinity, spelled as everywhere else
    return _short(str(value))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def _number(value: object) -> float | None:
    """None for a value that is not a number, or is too large to be drawn."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _ends(values: Sequence[float]) -> tuple[float, float] | None:
    """The least and the greatest finite value. A NaN makes `min` and `max` wrong only when it is the first value; then the result
    is NaN too."""
    if not len(values):
        return None
    least, most = min(values), max(values)
    if not (math.isfinite(least) and math.isfinite(most)):
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return None
        least, most = min(finite), max(finite)
    return float(least), float(most)


# Series → values for people.


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
    """The logged object; a text of another shape is shown unchanged rather than lost."""
    try:
        parsed = json.loads(text)
        return {"kind": str(parsed["kind"]), "value": parsed["value"]}
    except (ValueError, KeyError, TypeError):
        return {"kind": "text", "value": text.decode("utf-8", "replace")}


def in_order(by_spool: Sequence[Sequence[Point]]) -> list[Point]:
    """The points of several spools as one sequence: each spool keeps its order; between spools, time decides."""
    if len(by_spool) == 1:
        return list(by_spool[0])
    return sorted((point for sequence in by_spool for point in sequence), key=lambda point: point.time)


def read_back(found: Sequence[Point]) -> Any:
    """The value of one metric in `get_metrics`, as in the Azure ML SDK v1.

    A value logged once is that value, several times a list; rows and tables are a dict of columns, where a column of one cell is
    that cell. Images, confusion matrices and other documents are their address or document.
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
    """A metric's points thinned for drawing, in the order of their times. Numbers only: a list counts as its numbers, other
    values are left out. It creates no object per point, so that a million points are fast."""
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
        order = sorted(order, key=times.__getitem__)  # the sort is stable: equal times keep each spool's order
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
    """Indexes to draw: for each bucket of equal length its lowest and highest finite value, in order, and both ends.

    Peaks stay visible for any number of points. At most 2 × buckets + 2 indexes; all of them when there are no more.
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
