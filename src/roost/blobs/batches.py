"""Many small blobs in one body, both ways. For each blob: 32 bytes of hash, its length as a little-endian u32, its bytes.

Or many small files with names. For each file: the length of its name (u16) and of its bytes (u32), little-endian, then both.
"""

import struct
from collections.abc import Iterator

from roost.domain.errors import InvalidInput

MAX_COUNT = 10_000
"""The most blobs in one body: even heads without content would otherwise block a thread and memory for long."""
_HEAD = struct.Struct("<32sI")
_NAMED = struct.Struct("<HI")


def head(name: str, size: int) -> bytes:
    """The header before the bytes of a blob."""
    return _HEAD.pack(bytes.fromhex(name), size)


def read(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of each blob; InvalidInput when the body is truncated."""
    at = 0
    while at < len(body):
        if len(body) - at < _HEAD.size:
            raise InvalidInput(f"The batch is cut short at byte {at} of {len(body)}.")
        name, length = _HEAD.unpack_from(body, at)
        at += _HEAD.size
        if len(body) - at < length:
            raise InvalidInput(
                f"The batch is cut short in blob {name.hex()}: {length} bytes said, {len(body) - at} there."
            )
        yield name.hex(), body[at : at + length]
        at += length


def named(name: str, data: bytes) -> bytes:
    """A file as encoded in a body."""
    encoded = name.encode()
    return _NAMED.pack(len(encoded), len(data)) + encoded + data


def read_named(body: bytes) -> Iterator[tuple[str, memoryview]]:
    """Name and content of each file; InvalidInput when the body is truncated or a name is not text."""
    view, at = memoryview(body), 0
    while at < len(body):
        name_at = at + _NAMED.size
        name_length, length = _NAMED.unpack_from(body, at) if name_at <= len(body) else (0, len(body))
        data_at = name_at + name_length
        if len(body) - data_at < length:
            raise InvalidInput(f"The batch is cut short in the file at byte {at} of {len(body)}.")
        at = data_at + length
        try:
            yield str(view[name_at:data_at], "utf-8"), view[data_at:at]
        except UnicodeDecodeError:
            raise InvalidInput(f"The name at byte {name_at} of the batch is not UTF-8.") from None
