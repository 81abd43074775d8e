"""Who may enter: each route declares its access when it is made, and a route that does not cannot be served. What a browser's
session may do of it: `browsing.py`.

A Desk holds the routes of one noun; each carries an Access and the records of its body and answer (for OpenAPI).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeVar

from fastapi import Depends, FastAPI, Request

from roost.api import browsing, lanes
from roost.api.cookies import session_of
from roost.domain.errors import Forbidden, Unauthorized
from roost.domain.people import Caller, TokenKind
from roost.services import lineage, people
from roost.services.house import House

F = TypeVar("F", bound=Callable[..., object])


class Access(StrEnum):
    OPEN = "open"
    """Anybody; the route must be in OPEN below."""
    PERSON = "person"
    """A person's token."""
    RUN = "run"
    """A person's token, or that of the run in the path or of one above it. Those below a run may read it."""
    ANY = "any"
    """Any token that is known."""


OPEN = frozenset(
    {
        ("GET", "/api/health"),
        ("GET", "/login"),  # takes a code that is good once
        ("GET", "/"),  # the pages: the same bytes for everybody, nothing of anybody's in them
        ("GET", "/runs/{run_id}"),
        ("GET", "/data"),
        ("GET", "/data/{name}"),
        ("GET", "/serving"),
        ("GET", "/models/{name}"),
        ("GET", "/studio/{name}"),
    }
)
"""Every route that needs no token. The whole list."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """What stands on a route's door."""

    access: Access
    body: type | None
    answer: type | None
    """None for an answer without a body."""
    statuses: tuple[int, ...] = (200,)
    """Of what is no error."""
    media: str = "application/octet-stream"
    """Of an answer that is bytes."""


async def house_of(request: Request) -> House:
    house: House = request.app.state.house
    return house


async def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


TheHouse = Annotated[House, Depends(house_of)]
TheCaller = Annotated[Caller, Depends(caller_of)]


async def _identify(request: Request) -> Caller:
    token, kind = _token(request)
    house = await house_of(request)
    caller = people.remembered(house, token, kind)
    if caller is None:
        caller = await lanes.run(people.caller, house, token, kind)
    if caller.is_run:
        house.heard.put(caller.run_id, house.clock())
    request.state.caller = caller
    request.app.state.lanes.choose(caller, request.method)
    return caller


def _token(request: Request) -> tuple[str, TokenKind]:
    """The token and the way it came: in the header from programs, in a cookie from our pages."""
    header = request.headers.get("authorization")
    if header is None and (session := session_of(request)):
        return session, TokenKind.SESSION
    scheme, _, token = (header or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("No token was given.", hint="Send `Authorization: Bearer TOKEN`.")
    return token, TokenKind.KEY


async def _check_open(request: Request) -> None:
    """Nothing to check."""


async def _check_person(request: Request) -> None:
    (await _identify(request)).require_person()


async def _check_run(request: Request) -> None:
    caller, run_id = await _identify(request), request.path_params["run_id"]
    if caller.is_run and caller.run_id != run_id:
        await lanes.run(_check_kin, await house_of(request), caller, run_id, request.method)


def _check_kin(house: House, caller: Caller, run_id: str, method: str) -> None:
    """A run's token reaches those below it; those above it may be read."""
    if method != "GET" or run_id not in lineage.above(house, caller.run_id):
        caller.require_run(run_id, lineage.above(house, run_id))


async def _check_any(request: Request) -> None:
    await _identify(request)


_CHECKS: dict[Access, Callable[[Request], Awaitable[None]]] = {
    Access.OPEN: _check_open,
    Access.PERSON: _check_person,
    Access.RUN: _check_run,
    Access.ANY: _check_any,
}


def _entry(sign: Sign, method: str, path: str) -> Callable[[Request], Awaitable[None]]:
    check, for_sessions = _CHECKS[sign.access], browsing.may(method, path)

    async def enter(request: Request) -> None:
        await check(request)
        if sign.access is not Access.OPEN and not for_sessions and (await caller_of(request)).by_browser:
            raise Forbidden(
                f"A browser's session may not {method} {path}.", hint="Do it with the SDK or the `roost` command."
            )

    return enter


class Desk:
    """The routes of one noun, declared when its module is loaded and mounted when an app is made."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._routes: list[tuple[str, str, Callable[..., object], Sign]] = []

    def route(
        self,
        method: str,
        path: str,
        access: Access,
        *,
        body: type | None = None,
        answer: type | None = None,
        statuses: tuple[int, ...] = (200,),
        media: str = "application/octet-stream",
    ) -> Callable[[F], F]:
        """Declares a route."""
        sign = Sign(access=access, body=body, answer=answer, statuses=statuses, media=media)

        def declare(endpoint: F) -> F:
            self._routes.append((method, path, endpoint, sign))
            return endpoint

        return declare

    def mount(self, app: FastAPI) -> None:
        """The check of a route's access runs before anything of the request's body is read."""
        for method, path, endpoint, sign in self._routes:
            app.add_api_route(
                path,
                lanes.in_thread(endpoint),
                methods=[method],
                dependencies=[Depends(_entry(sign, method, path))],
                response_model=None,
                tags=[self._noun],
            )
            signs(app)[method, path] = sign


def signs(app: FastAPI) -> dict[tuple[str, str], Sign]:
    """By method and path, for every route that came from a desk."""
    if not hasattr(app.state, "signs"):
        app.state.signs = {}
    found: dict[tuple[str, str], Sign] = app.state.signs
    return found


def served(app: FastAPI) -> list[tuple[str, str, Sign]]:
    """Every route that the app serves as (method, path, sign); RuntimeError when one has no right sign on its door."""
    found = []
    for route in app.routes:
        for method in sorted(getattr(route, "methods", None) or ("?",)):
            path = str(getattr(route, "path", route))
            sign = signs(app).get((method, path))
            if sign is None:
                raise RuntimeError(f"{method} {path} does not say who may enter.")
            if (sign.access is Access.OPEN) != ((method, path) in OPEN):
                raise RuntimeError(f"{method} {path} and the list of open routes do not agree.")
            if sign.access is Access.RUN and "{run_id}" not in path:
                raise RuntimeError(f"{method} {path} is for a run's token but names no run.")
            found.append((method, path, sign))
    return found
