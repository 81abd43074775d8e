"""Frames between an endpoint's front and a worker, over a Unix socket. Both directions are here, so that they stay the same.

    length u32 | kind u8 | id u64 | head length u32 | head (JSON, UTF-8) | body     (big-endian; `length` counts what follows it)

    HELLO     worker → front   first of all: {"pid", "version", "schema", "raw", "concurrency"}
    REQUEST   front → worker   {"method", "path", "query", "headers": {lower-case name: value}}; the body as it came
    RESPONSE  worker → front   {"status", "headers"}; the body
    ABORT     front → worker   give up on `id`: a worker that handles it exits with EXIT_ABORTED; else it drops it
    STOP      either way       from the front: finish all requests and exit with 0. From the worker: it ends, send nothing more;
                               the front closes the connection when it has every answer
    RECALL    front → worker   return `id` unless it was started
    RETURNED  worker → front   `id` was not started, and will not be: the front may send it to another
    COLLECTED worker → front   data that the script collects (`roost_job.monitoring`), a JSON object; a front may ignore it

Several requests may be in work; they are started in the order of arrival and answered in any order. An empty head is `{}`.
"""

import json
import struct
from typing import Any, Dict, Iterator, Optional, Tuple, Union

HELLO, REQUEST, RESPONSE, ABORT, STOP, RECALL, RETURNED, COLLECTED = 1, 2, 3, 4, 5, 6, 7, 8

HEAD = struct.Struct(">IBQI")
_AFTER_LENGTH = HEAD.size - 4
MAX_LENGTH = 1 << 30
"""The longest frame; a larger announced length is an error."""
LARGE = 1 << 16
"""A body of at least this many bytes is sent separately."""
ENDED = ".ended"
"""Suffix of the file beside a worker's socket with the reason why the agent killed the worker."""
EXIT_ABORTED = 70
EXIT_NOT_LOADED = 71
"""`init()`, or loading the model, failed."""

Frame = Tuple[int, int, bytes, bytes]


class BadFrame(Exception):
    """Invalid bytes instead of a frame: the connection cannot be used any more."""


def pack(kind: int, number: int = 0, head: Optional[Dict[str, Any]] = None, body: bytes = b"") -> bytes:
    """One frame, as bytes to send."""
    return pack_raw(kind, number, json.dumps(head, separators=(",", ":")).encode("utf-8") if head else b"", body)


def pack_raw(kind: int, number: int, head: bytes, body: bytes) -> bytes:
    """The same when the head is JSON already."""
    return opening(kind, number, head, len(body)) + body


def opening(kind: int, number: int, head: bytes, size: int) -> bytes:
    """A frame up to its body, which has this size: large bodies are sent separately, without a copy."""
    return HEAD.pack(_AFTER_LENGTH + len(head) + size, kind, number, len(head)) + head


def head_of(head: bytes) -> Dict[str, Any]:
    """The decoded head of a frame. BadFrame when it is not a JSON object."""
    if not head:
        return {}
    try:
        said = json.loads(head.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadFrame("a head that is no JSON: %s" % error)
    if not isinstance(said, dict):
        raise BadFrame("a head that is no JSON object")
    return said


class Unpacker(object):
    """Bytes from the socket in, complete frames out: `for kind, number, head, body in unpacker.feed(data)`."""

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self._held = bytearray()
        self._wanted = HEAD.size
        self._max = max_length

    def feed(self, data: Union[bytes, bytearray]) -> Iterator[Frame]:
        """The frames that these bytes complete. BadFrame at the first invalid one."""
        if self._held:
            self._held += data
            if len(self._held) < self._wanted:
                return
            data, self._held = self._held, bytearray()
        start, size, view = 0, len(data), memoryview(data)
        while size - start >= HEAD.size:
            length, kind, number, head_length = HEAD.unpack_from(data, start)
            if length > self._max or head_length > length - _AFTER_LENGTH or length < _AFTER_LENGTH:
                raise BadFrame("a frame of %d bytes with a head of %d" % (length, head_length))
            end = start + 4 + length
            if end > size:
                self._wanted = end - start
                break
            body_at = start + HEAD.size + head_length
            yield kind, number, bytes(view[start + HEAD.size : body_at]), bytes(view[body_at:end])
            start = end
        else:
            self._wanted = HEAD.size
        if start < size:
            self._held += view[start:]
