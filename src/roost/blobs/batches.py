"""Many small blobs in one body, both ways: for each 32 bytes of hash, its length as a little-endian u32, its bytes."""

import struct
from collections.abc import Iterator

from roost.domain.errors import InvalidInput

_HEAD = struct.Struct("<32sI")


def head(name: str, size: int) -> bytes:
    """What stands before the bytes of a blob."""
    return _HEAD.pack(bytes.fromhex(name), size)


def read(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of each blob; InvalidInput where the body is cut short."""
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
