"""Spools: bytes of a process's spool → one packed series per metric (`decode`). Written for speed: most frames are numbers of one
size, so whole columns are cut from many frames at once. `roost_job/tracking/records.py` defines the format.
"""

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter
from struct import Struct
from typing import Any
from zlib import crc32

from roost.domain.metrics import Encoding, Series, Space, join, texts
from roost_job.tracking import records

MAX_NAME = 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """The content of a part of a spool."""

    consumed: int
    """Bytes of whole, valid frames; the rest is not written yet, or never will be."""
    names: Mapping[int, str]
    """Names that this part defines."""
    series: Sequence[Series]
    """One per metric."""
    space: Space | None
    """From the header, when it is in this part."""
    damaged: bool
    """A complete frame has a wrong checksum: nothing after it can be read."""


_NUMBER = records.FLOAT_BODY.size
_STRIDE = records.FRAME.size + _NUMBER
_LENGTH = _NUMBER.to_bytes(4, "little")
_KINDS = bytes([records.FLOAT, records.INT])
_FIXED = [*((at, bytes([byte])) for at, byte in enumerate(_LENGTH)), (records.FRAME.size, _KINDS)]
"""The bytes that are the same in all frames of numbers: their offset and their allowed values."""
_BODIES = Struct(f"<{records.FRAME.size}x{_NUMBER}s")
_LEAST_STRETCH, _WIDEST_LOOK = 8, 1 << 16


def decode(data: bytes, names: Mapping[int, str]) -> Batch:
    """The whole frames of `data`, which starts at a frame. `names` holds the names defined before; nothing else is assumed.

    A frame of an unknown kind, or with an undefined name, is skipped. Most frames are numbers of one size: sequences of those are
    decoded column by column, the rest frame by frame.
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
    """The number of the next frames, at most `look`, that are numbers. A check of one later frame avoids the work where there is
    clearly no long sequence."""
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
    """The number of these frames, from the first on, with the right checksum."""
    found = array("I", starmap(crc32, _BODIES.iter_unpack(memoryview(data)[start : start + count * _STRIDE])))
    written = _column(data, start + 4, count, "I")
    if found == written:
        return count
    return next(i for i, (a, b) in enumerate(zip(found, written, strict=True)) if a != b)


def _column(data: bytes, at: int, count: int, code: str) -> "array[Any]":
    """One field of `count` equal frames, packed: the first bytes of all, then the second bytes, and so on; no loop over
    points."""
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
    """Groups frames of numbers, all valid, by metric. Values stay as they are, eight bytes each."""
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
    packed = texts(broken if kind == records.FLOAT else whole for kind, broken, whole in numbers)
    return Series(name, Encoding.OBJECT, len(kinds), steps, times, packed)


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
