"""Routes: the pages and what they are made of. Static files of this package, open to all; nothing here touches the context."""

import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import Request, Response

from roost.api.doors import Router
from roost.domain.errors import NotFound
from roost.domain.permissions import Action, Scope

router = Router("studio")

_FILES = Path(__file__).with_name("files")
_FRAME = _FILES / "frame.html"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_STATUSES = (200, 304)
_PAGE = "text/html"
_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Scripts and styles come from here as files, or not at all: what a run wrote can never become one."""


@router.route("GET", "/", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def front(request: Request) -> Response:
    return _file(request, "list.html")


@router.route("GET", "/runs/{run_id}", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def run(request: Request, run_id: str) -> Response:  # noqa: ARG001 the page's script reads it from its own address
    return _file(request, "run.html")


@router.route("GET", "/data", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def data(request: Request) -> Response:
    return _file(request, "data.html")


@router.route("GET", "/data/{name}", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def dataset(request: Request, name: str) -> Response:  # noqa: ARG001 as above
    return _file(request, "dataset.html")


@router.route("GET", "/models/{name}", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def model(request: Request, name: str) -> Response:  # noqa: ARG001 as above
    return _file(request, "model.html")


@router.route("GET", "/serving", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media=_PAGE)
def serving(request: Request) -> Response:
    return _file(request, "serving.html")


@router.route("GET", "/studio/{name}", Action.PAGE_READ, Scope.SERVER, answer=bytes, statuses=_STATUSES, media="*/*")
def asset(request: Request, name: str) -> Response:
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    found = _load().get(name)
    if found is None:
        raise NotFound(f"The studio has no file {name!r}.")
    data, kind, tag = found
    headers = {"content-security-policy": _POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    headers["etag"] = tag
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, 200, headers, kind)


@cache
def _load() -> dict[str, tuple[bytes, str, str]]:
    """Every file by its name, read once: its bytes, its kind, its tag. A name that is asked for is only ever looked up here."""
    found = {}
    frame = _FRAME.read_text()
    for path in sorted(_FILES.iterdir()):
        if path.suffix in _KINDS and path != _FRAME:
            data = _framed(frame, path.read_text()).encode() if path.suffix == ".html" else path.read_bytes()
            found[path.name] = (data, _KINDS[path.suffix], f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return found


def _framed(frame: str, page: str) -> str:
    """A page whole: what it has under `<!-- head -->`, `<!-- nav -->` and `<!-- main -->` in those places of the frame."""
    _, *parts = re.split(r"<!-- (head|nav|main) -->\n", page)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        frame = frame.replace(f"<!-- {name} -->\n", text)
    return frame
