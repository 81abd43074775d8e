"""Answers: records as JSON that is always valid, and bytes with `Range`."""

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from roost.blobs.pieces import FilePieces
from roost.domain import codec
from roost.domain.errors import Busy, RoostError, as_wire

_WHOLE = 1024 * 1024
"""Up to this size an answer is sent in one piece."""
RETRY_SECONDS = 1
"""Seconds after which a client should repeat a request that was refused as Busy."""
_BY_FILE = "http.response.zerocopysend"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)
_DIGITS = 19
"""A number with this many digits is past the end of every file, and Python does not parse thousands of digits."""


def answer(value: object, status: int = 200) -> Response:
    """A record as JSON."""
    return plain_answer(codec.encode(value), status)


def plain_answer(plain: object, status: int = 200) -> Response:
    """A value that is plain already: it need not be encoded, so a million numbers are not visited one by one."""
    return Response(_text(plain), status_code=status, media_type="application/json")


def joined_answer(name: str, texts: Iterable[str], rest: Mapping[str, object]) -> Response:
    """A list of values that are JSON text already, with the other fields of the answer."""
    text = f'{{"{name}":[{",".join(texts)}],{_text(rest)[1:]}'
    return Response(text, media_type="application/json")


def _text(plain: object) -> str:
    try:
        return json.dumps(plain, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(spell(plain), allow_nan=False, separators=(",", ":"))


def spell(value: Any) -> Any:
    """The plain value with every number that JSON cannot express written as `{"float": WORD}`."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": word(value)}
    if isinstance(value, Mapping):
        return {key: spell(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [spell(each) for each in value]
    return value


def word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def failure(error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """An error in the wire format."""
    text = json.dumps(as_wire(error))
    headers = {"retry-after": str(RETRY_SECONDS), **(headers or {})} if isinstance(error, Busy) else headers
    return Response(text, status_code=status or error.http_status, headers=headers, media_type="application/json")


def content(request: Request, size: int, read: Callable[[int, int], Iterator[bytes]]) -> Response:
    """All bytes, or the one requested range. `read(offset, length)` returns them piece by piece."""
    headers = {"accept-ranges": "bytes"}
    span = _span(request.headers.get("range", ""), size)
    start, length, status = 0, size, 200
    if span is not None:
        start, length = span
        if length <= 0:
            problem = RoostError(
                f"The range {request.headers['range'][:100]!r} lies outside the {size} bytes there are."
            )
            return failure(problem, 416, {"content-range": f"bytes */{size}"})
        headers["content-range"] = f"bytes {start}-{start + length - 1}/{size}"
        status = 206
    if length <= _WHOLE:
        body = b"".join(read(start, length)) if length else b""
        return Response(body, status, headers, "application/octet-stream")
    headers["content-length"] = str(length)
    return Stretch(read(start, length), status, headers, "application/octet-stream")


class Stretch(StreamingResponse):
    """Bytes piece by piece; the kernel sends them from a file when the server supports it (ASGI's
    `http.response.zerocopysend`)."""

    def __init__(self, pieces: Iterator[bytes], status: int, headers: Mapping[str, str], media_type: str) -> None:
        super().__init__(pieces, status, headers, media_type)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not isinstance(self._pieces, FilePieces) or _BY_FILE not in scope.get("extensions", {}):
            return await super().__call__(scope, receive, send)
        with contextlib.closing(self._pieces) as span:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": _BY_FILE, "file": span.file, "offset": span.offset, "count": span.count})
        return None


def _span(header: str, size: int) -> tuple[int, int] | None:
    """Start and length of a single range; None for no range, or for one that is not understood and so ignored."""
    found = _RANGE.fullmatch(header.strip())
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        length = min(_number(found[2]), size)
        return size - length, length
    start = _number(found[1])
    end = min(_number(found[2]), size - 1) if found[2] else size - 1
    if found[2] and _number(found[2]) < start:
        return None
    return start, end - start + 1


def _number(digits: str) -> int:
    return int(digits.lstrip("0")[:_DIGITS] or "0")
