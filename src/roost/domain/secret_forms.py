"""Forms in which a secret may stand in a text: as it is, escaped as JSON and Python do, quoted for an address, in base64. Pure.

Nobody who prints a request, a connection string or a header means to show the secret in it. What is enciphered, compressed or
spelt in other ways is not found.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""A shorter value would stand in every second word of a log."""
_WIDTHS = (76, 64)
"""Where programs break lines of base64: e-mail's, and those of keys and certificates."""
_SHORTEST_PIECE = 8
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def patterns(values: Iterable[str]) -> tuple[bytes, ...]:
    """What to look for in a log, the longest first. Values are looked for line by line: logs break and indent them."""
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
    """A line in the spellings that leave ordinary letters as they are."""
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
    """The letters that stand for these bytes alone when they come after so many others: as the end, padded or not, and when
    others follow."""
    first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
    letters = base64.b64encode(bytes(before) + data)
    return letters[first:], letters[first:].rstrip(b"="), letters[first:last]
