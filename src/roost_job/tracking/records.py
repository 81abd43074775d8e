"""The spool's format: a log call on disk. Both directions are here, so that they stay the same.

A spool is a file to which only one process appends. It is a sequence of frames

    length u32 | crc32 u32 | body                    (little-endian; length and checksum are the body's)

and the body begins with its kind. A frame that is cut short or fails its checksum can only be the last one of a writer
that was killed: the reader stops there. Names of metrics are interned: the first use of a name writes a NAME frame.

    HEADER   u8 | JSON        the first frame: {"space": "user"|"system", "rank": int, "pid": int, "created": seconds}
    NAME     u8 | id u32 | UTF-8
    FLOAT    u8 | id u32 | step i64 | time f64 | value f64
    INT      u8 | id u32 | step i64 | time f64 | value i64
    OBJECT   u8 | id u32 | step i64 | time f64 | JSON

`step` is NO_STEP when the caller gave none; `time` is seconds since the epoch. An OBJECT is any value that is not a
plain number, as {"kind": KIND, "value": …}: "text", "flag", "list", "row", "table", "image", "confusion_matrix", … It is JSON
with Python's NaN and Infinity. Python 3.6 and later, standard library only.
"""

import json
import struct
from typing import Any, Iterator, Tuple
from zlib import crc32

HEADER, NAME, FLOAT, INT, OBJECT = 0, 1, 2, 3, 4
NO_STEP = -(2**63)
MAX_BODY = 8 * 1024 * 1024

FRAME = struct.Struct("<II")
NAME_HEAD = struct.Struct("<BI")
FLOAT_BODY = struct.Struct("<BIqdd")
INT_BODY = struct.Struct("<BIqdq")
OBJECT_HEAD = struct.Struct("<BIqd")


def frame(body: bytes) -> bytes:
    """One frame around a body."""
    return FRAME.pack(len(body), crc32(body)) + body


def header(**facts: Any) -> bytes:
    return frame(bytes(bytearray([HEADER])) + json.dumps(facts, sort_keys=True).encode("utf-8"))


def name(number: int, text: str) -> bytes:
    return frame(NAME_HEAD.pack(NAME, number) + text.encode("utf-8", "surrogatepass"))


def obj(number: int, step: int, time: float, kind: str, value: Any) -> bytes:
    payload = json.dumps({"kind": kind, "value": value}).encode("utf-8")
    return frame(OBJECT_HEAD.pack(OBJECT, number, step, time) + payload)


def frames(data: bytes, start: int = 0) -> Iterator[Tuple[memoryview, int]]:
    """The whole, valid frames of `data` from `start`: (body, end offset). Stops at the first that is cut or damaged."""
    view = memoryview(data)
    size = len(view)
    while size - start >= FRAME.size:
        length, checksum = FRAME.unpack_from(view, start)
        end = start + FRAME.size + length
        if length == 0 or length > MAX_BODY or end > size:
            return
        body = view[start + FRAME.size : end]
        if crc32(body) != checksum:
            return
        yield body, end
        start = end
