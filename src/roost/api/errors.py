"""How errors become answers. The shape of an answer belongs to a router: its routes, and every other request below its prefix,
are refused in that shape. Another protocol brings an `ErrorShape` of its own; limits of bodies (`bodies.limited`) and the
spelling of what goes in and out are the choice of each route already.
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
    """Writes an error as an answer. `status` and `headers` go before the error's own."""

    def __call__(
        self, error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> Response: ...


@dataclass(frozen=True, kw_only=True)
class ErrorShape:
    prefix: str
    """Paths that begin so are answered in this shape, also where there is no route. The longest prefix counts."""
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
    """The answer to an error that a request ended with. Anything unforeseen is raised again, and answered by the guard."""
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
