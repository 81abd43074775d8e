"""Forms in which a secret may appear in a text: unchanged, escaped as JSON and Python do, quoted for an address, in base64. Pure.

This protects against secrets that are printed by accident, in a request, a connection string or a header. Encrypted, compressed
or otherwise changed secrets are not found.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""A shorter value would match ordinary words of a log."""
_WIDTHS = (76, 64)
"""Line lengths of base64: in e-mail, and in keys and certificates."""
_SHORTEST_PIECE = 8
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def patterns(values: Iterable[str]) -> tuple[bytes, ...]:
    """The patterns to search for in a log, the longest first. A value is searched line by line, since logs break and indent
    values."""
    found: set[bytes] = set()
    for value in values:
        lines = {line.strip() for line in value.splitlines()}
        for line in lines:
            if len(line) >= SHORTEST:
                found.update(_escaped(line))
        for whole in {value, value.strip()}:
            if len(whole) >= SHORTEST and any(len(line) >= SHORTEST for line in lines):
                found.update(_base64(whole.encode()))
    return tuple(sorted(found, key=lambda pattern: (-len(pattern), pattern)))


def _escaped(line: str) -> Iterator[bytes]:
    """A line in the escapes that leave ordinary letters unchanged."""
    data = line.encode()
    yield data
    yield repr(data)[2:-1].encode()
    for text in (json.dumps(line), json.dumps(line, ensure_ascii=False), repr(line)):
        yield text[1:-1].encode()
    for text in (quote(line), quote(line, safe=""), quote(line, safe="!'()*"), quote_plus(line)):
        yield text.encode()
        yield _lower_hex(text).encode()


def _lower_hex(text: str) -> str:
    """`%C3` as `%c3`."""
    first, *parts = text.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts)


def _base64(data: bytes) -> Iterator[bytes]:
    whole = base64.b64encode(data)
    pieces = [piece for before in range(3) for piece in _after(data, before)]
    for width in _WIDTHS:
        broken = [whole[at : at + width] for at in range(0, len(whole), width)]
        pieces += [piece for piece in broken if len(piece) >= _SHORTEST_PIECE]
    for piece in pieces:
        if len(piece) >= SHORTEST:
            yield piece
            yield piece.translate(_URL_SAFE)


def _after(data: bytes, before: int) -> tuple[bytes, ...]:
    """The base64 letters that depend on these bytes alone when `before` bytes precede them: at the end, padded or not, and when
    other bytes follow."""
    first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
    letters = base64.b64encode(bytes(before) + data)
    return letters[first:], letters[first:].rstrip(b"="), letters[first:last]
