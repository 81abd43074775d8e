"""Frames between an endpoint's front and a worker, over a Unix socket. Both directions stand here, so that they stay the same.

    length u32 | kind u8 | id u64 | head length u32 | head (JSON, UTF-8) | body     (big-endian; `length` counts what follows it)

    HELLO     worker → front   first of all: {"pid", "version", "schema", "raw", "concurrency"}
    REQUEST   front → worker   {"method", "path", "query", "headers": {lower-case name: value}}; the body as it came
    RESPONSE  worker → front   {"status", "headers"}; the body
    ABORT     front → worker   give up on `id`: a worker that is at it exits with EXIT_ABORTED; else it forgets it
    STOP      either way       front: finish what you have and exit with 0. Worker: it is about to leave, so send nothing more;
                               the front closes the connection when it has every answer
    RECALL    front → worker   give `id` back unless it was begun
    RETURNED  worker → front   `id` was not begun, and will not be: the front may give it to another
    COLLECTED worker → front   what the script wants kept (`roost_job.monitoring`), a JSON object as body; a front may ignore it

Several requests may be under way; they are begun in the order in which they came and answered in any. An empty head is `{}`.
"""

import json
import struct
from typing import Any, Dict, Iterator, Optional, Tuple, Union

HELLO, REQUEST, RESPONSE, ABORT, STOP, RECALL, RETURNED, COLLECTED = 1, 2, 3, 4, 5, 6, 7, 8

HEAD = struct.Struct(">IBQI")
_AFTER_LENGTH = HEAD.size - 4
MAX_LENGTH = 1 << 30
"""Of one frame; whoever announces more is no worker of ours."""
LARGE = 1 << 16
"""Bytes of a body from which it is sent by itself."""
ENDED = ".ended"
"""Beside a worker's socket, under its name and this: why the agent ended the worker by force."""
EXIT_ABORTED = 70
EXIT_NOT_LOADED = 71
"""`init()`, or loading the model, failed."""

Frame = Tuple[int, int, bytes, bytes]


class BadFrame(Exception):
    """What came is no frame: the connection is of no more use."""


def pack(kind: int, number: int = 0, head: Optional[Dict[str, Any]] = None, body: bytes = b"") -> bytes:
    """One frame, as bytes to send."""
    return pack_raw(kind, number, json.dumps(head, separators=(",", ":")).encode("utf-8") if head else b"", body)


def pack_raw(kind: int, number: int, head: bytes, body: bytes) -> bytes:
    """The same where the head is JSON already."""
    return opening(kind, number, head, len(body)) + body


def opening(kind: int, number: int, head: bytes, size: int) -> bytes:
    """A frame up to its body, which has this size: large ones are sent by themselves, and not copied for it."""
    return HEAD.pack(_AFTER_LENGTH + len(head) + size, kind, number, len(head)) + head


def head_of(head: bytes) -> Dict[str, Any]:
    """The head of a frame, read. BadFrame when it is no JSON object."""
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
    """Bytes as they come from the socket, frames as they are whole: `for kind, number, head, body in unpacker.feed(data)`."""

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self._held = bytearray()
        self._wanted = HEAD.size
        self._max = max_length

    def feed(self, data: Union[bytes, bytearray]) -> Iterator[Frame]:
        """The frames that these bytes complete. BadFrame at the first that cannot be one."""
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
