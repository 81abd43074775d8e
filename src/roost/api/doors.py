"""Access control: each route declares its action and scope when it is made, and a route without them cannot be served.
`domain/permissions.py` lists the roles that may do an action; `services/scopes.py` limits a run's token.

A Router holds the routes of one noun; each carries its RouteFacts: action, scope, the records of body and answer (OpenAPI).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, FastAPI, Request

from roost.api import lanes
from roost.api.cookies import session_of
from roost.api.errors import ROOST, ErrorShape, ErrorShapes
from roost.domain.errors import Unauthorized
from roost.domain.people import Caller, TokenKind
from roost.domain.permissions import READS, Action, Role, Scope, may
from roost.services import people, scopes
from roost.services.context import Context

F = TypeVar("F", bound=Callable[..., object])


OPEN = frozenset(
    {
        ("GET", "/api/health"),
        ("GET", "/login"),  # takes a code that is valid once
        ("GET", "/"),  # the pages: the same bytes for every caller, without anybody's data
        ("GET", "/runs/{run_id}"),
        ("GET", "/data"),
        ("GET", "/data/{name}"),
        ("GET", "/serving"),
        ("GET", "/models/{name}"),
        ("GET", "/studio/{name}"),
    }
)
"""Every route that needs no token; the list is complete."""


@dataclass(frozen=True, kw_only=True)
class RouteFacts:
    """What a route declares about itself."""

    action: Action
    scope: Scope
    errors: ErrorShape
    body: type | None
    answer: type | None
    """None for an answer without a body."""
    statuses: tuple[int, ...] = (200,)
    """The statuses of success."""
    media: str = "application/octet-stream"
    """The media type of an answer that is bytes."""

    @property
    def is_open(self) -> bool:
        """True when no token is needed."""
        return may(Role.ANYONE, self.action)


async def house_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


async def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


TheContext = Annotated[Context, Depends(house_of)]
TheCaller = Annotated[Caller, Depends(caller_of)]


async def _identify(request: Request) -> Caller:
    token, kind = _token(request)
    context = await house_of(request)
    caller = people.remembered(context, token, kind)
    if caller is None:
        caller = await lanes.run(people.caller, context, token, kind)
    if caller.is_run:
        context.heard.put(caller.run_id, context.clock())
    request.state.caller = caller
    request.app.state.lanes.choose(caller, request.method)
    return caller


def _token(request: Request) -> tuple[str, TokenKind]:
    """The token and its kind: programs send it in the header, Roost's pages in a cookie."""
    header = request.headers.get("authorization")
    if header is None and (session := session_of(request)):
        return session, TokenKind.SESSION
    scheme, _, token = (header or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("No token was given.", hint="Send `Authorization: Bearer TOKEN`.")
    return token, TokenKind.KEY


def _entry(facts: RouteFacts) -> Callable[[Request], Awaitable[None]]:
    """Checks the caller's role, and the reach of a run's token."""

    async def enter(request: Request) -> None:
        if facts.is_open:
            return
        caller = await _identify(request)
        caller.require(facts.action)
        if not caller.is_run:
            return
        context, path = await house_of(request), request.path_params
        if facts.scope is Scope.RUN and path["run_id"] != caller.run_id:
            await lanes.run(scopes.require_run, context, caller, path["run_id"], facts.action)
        if facts.scope is Scope.WORKSPACE:
            await lanes.run(scopes.require_workspace, context, caller, path["workspace"])

    return enter


class Router:
    """The routes of one noun, declared when its module is loaded and mounted when an app is made."""

    def __init__(self, noun: str, errors: ErrorShape = ROOST) -> None:
        self._noun = noun
        self.errors = errors
        self._routes: list[tuple[str, str, Callable[..., object], RouteFacts]] = []

    def route(
        self,
        method: str,
        path: str,
        action: Action,
        scope: Scope,
        *,
        body: type | None = None,
        answer: type | None = None,
        statuses: tuple[int, ...] = (200,),
        media: str = "application/octet-stream",
    ) -> Callable[[F], F]:
        """Declares a route."""
        facts = RouteFacts(
            action=action,
            scope=scope,
            errors=self.errors,
            body=body,
            answer=answer,
            statuses=statuses,
            media=media,
        )

        def declare(endpoint: F) -> F:
            self._routes.append((method, path, endpoint, facts))
            return endpoint

        return declare

    def mount(self, app: FastAPI) -> None:
        """Adds the routes to an app. The caller is checked before any of the request's body is read."""
        for method, path, endpoint, facts in self._routes:
            app.add_api_route(
                path,
                lanes.in_thread(endpoint),
                methods=[method],
                dependencies=[Depends(_entry(facts))],
                response_model=None,
                tags=[self._noun],
            )
            route_facts(app)[method, path] = facts


def route_facts(app: FastAPI) -> dict[tuple[str, str], RouteFacts]:
    """Facts by method and path, for every route that came from a router."""
    if not hasattr(app.state, "route_facts"):
        app.state.route_facts = {}
    found: dict[tuple[str, str], RouteFacts] = app.state.route_facts
    return found


def served(app: FastAPI) -> list[tuple[str, str, RouteFacts]]:
    """Every route of the app as (method, path, facts); RuntimeError when a route has no facts or wrong ones."""
    found = []
    for route in app.routes:
        for method in sorted(getattr(route, "methods", None) or ("?",)):
            path = str(getattr(route, "path", route))
            facts = route_facts(app).get((method, path))
            if facts is None:
                raise RuntimeError(f"{method} {path} does not say who may enter.")
            if wrong := _problem(app, method, path, facts):
                raise RuntimeError(f"{method} {path} {wrong}.")
            found.append((method, path, facts))
    return found


def _problem(app: FastAPI, method: str, path: str, facts: RouteFacts) -> str:
    """The error in the facts of a route; empty for none."""
    if facts.is_open != ((method, path) in OPEN):
        return "and the list of open routes do not agree"
    named = Scope.RUN if "{run_id}" in path else Scope.WORKSPACE if "{workspace}" in path else Scope.SERVER
    if not facts.is_open and facts.scope is not named:
        return f"has the scope {facts.scope.value}, but its path names the scope {named.value}"
    if facts.scope is Scope.RUN and (facts.action in READS) != (method == "GET"):
        verb = "add it to" if method == "GET" else "take it out of"
        return f"does not agree with READS in domain/permissions.py about {facts.action.value}: {verb} it"
    shapes: ErrorShapes = app.state.error_shapes
    return "" if shapes.of(path) is facts.errors else "is outside the prefix of its router's error shape"
