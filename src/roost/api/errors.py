"""How errors become answers. A router sets the shape of its errors: for its routes, and for every other request below its prefix.
Another protocol brings an `ErrorShape` of its own; limits of bodies (`bodies.limited`) and the format of bodies and answers are
already set by each route.
"""

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from roost.api.answers import failure
from roost.domain.errors import DiskFull, InvalidInput, NotFound, RoostError

HANDLED = (RoostError, RequestValidationError, HTTPException, OSError)


class Failure(Protocol):
    """Writes an error as an answer. `status` and `headers` override the error's own."""

    def __call__(
        self, error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> Response: ...


@dataclass(frozen=True, kw_only=True)
class ErrorShape:
    prefix: str
    """Paths with this prefix are answered in this shape, even without a route. The longest prefix counts."""
    failure: Failure
    schema: Mapping[str, Any]
    """JSON Schema of an error, for the API's description."""

    def __hash__(self) -> int:
        return hash(self.prefix)


ROOST = ErrorShape(
    prefix="/",
    failure=failure,
    schema={
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {name: {"type": "string"} for name in ("code", "message", "hint", "cli_hint")},
            }
        },
    },
)


class ErrorShapes:
    """The shapes of one app, by prefix."""

    def __init__(self, shapes: Iterable[ErrorShape]) -> None:
        self._shapes = sorted({ROOST, *shapes}, key=lambda shape: len(shape.prefix), reverse=True)

    def of(self, path: str) -> ErrorShape:
        return next((shape for shape in self._shapes if path.startswith(shape.prefix)), ROOST)


async def explain(request: Request, error: Exception) -> Response:
    """The answer to a request's error. An unexpected error is raised again, and the guard answers it."""
    shapes: ErrorShapes = request.app.state.error_shapes
    written = shapes.of(request.url.path).failure
    if isinstance(error, RoostError):
        return written(error)
    if isinstance(error, RequestValidationError):
        return written(_misfit(error))
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        problem = f"{request.method} {request.url.path} is not a route of this server."
        return written(NotFound(problem, hint="GET /api/openapi.json lists them."), error.status_code, error.headers)
    if isinstance(error, HTTPException):
        return written(InvalidInput(str(error.detail)), error.status_code, error.headers)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return written(DiskFull("The control plane's disk is full.", hint="Free some room where ROOST_HOME is."))
    raise error


def _misfit(error: RequestValidationError) -> InvalidInput:
    first = error.errors()[0]
    kind, *rest = (str(part) for part in first["loc"])
    return InvalidInput(
        f"{kind} parameter `{'.'.join(rest)}` does not fit: {first['msg']}, got {first.get('input')!r}."
    )
