"""Checks every request before any route sees it: the right Host, no foreign Origin, a valid address.

A page on the internet can make a browser send requests to loopback, under its own name (DNS rebinding) or another's. So the Host
header must be one of this server's, and an Origin, if present, must match the Host. Pure ASGI: costs microseconds.
"""

import logging
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.api.bodies import BodyLimits
from roost.api.errors import ErrorShapes
from roost.domain import names
from roost.domain.errors import Forbidden, InvalidInput, RoostError

log = logging.getLogger("roost.api")

_FOR_BROWSERS = ((b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin"))
"""On every answer: a browser neither guesses the type of the bytes nor gives them to another site's page."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def host_headers(names: Iterable[str], port: int) -> frozenset[str]:
    """The Host headers of this server: loopback and these names with its port; a name that contains a port is used unchanged."""
    found = set()
    for name in (*LOOPBACK, *names):
        bare = f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name
        has_port = ":" in bare.rpartition("]")[2]
        found.add((bare if has_port else f"{bare}:{port}").lower())
        if port == 80 and not has_port:
            found.add(bare.lower())
    return frozenset(found)


class Guard:
    def __init__(self, app: ASGIApp, *, hosts: frozenset[str], limits: BodyLimits, shapes: ErrorShapes) -> None:
        self._app = app
        self._crowd = limits
        self._hosts = hosts
        self._shapes = shapes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif refused := self._refusal(scope):
            await self._failure(scope, refused)(scope, receive, send)
        else:
            await self._guarded(scope, receive, send)

    def _failure(self, scope: Scope, error: RoostError) -> Response:
        return self._shapes.of(scope["path"]).failure(error)

    def _refusal(self, scope: Scope) -> RoostError | None:
        hosts = [value for key, value in scope["headers"] if key == b"host"]
        origins = [value for key, value in scope["headers"] if key == b"origin"]
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        if host not in self._hosts:
            shown = ", ".join(value.decode("latin-1")[:100] for value in hosts)
            return Forbidden(
                f"This server does not answer to the Host {shown!r}.",
                hint="Use the address in ROOST_HOME/server.json; or, where the control plane runs, name this one, with its "
                "port, in ROOST_ALLOWED_HOSTS and start it again: roost down, then roost up.",
            )
        for origin in origins:
            if origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
                shown = origin.decode("latin-1")[:100]
                return Forbidden(f"Requests from the origin {shown!r} are not taken.")
        if wrong := names.address_problem(scope["raw_path"], scope["query_string"]):
            return InvalidInput(f"The address of the request is not allowed: {wrong}.")
        return None

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Logs an unexpected error with its traceback and answers without it."""
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), *_FOR_BROWSERS]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:  # the last resort of every request
            # After an answer has begun, the framework wraps the original error in a RuntimeError.
            told = error.__cause__ if begun and type(error) is RuntimeError and error.__cause__ else error
            how = "was broken off" if begun else "failed"
            log.error("%s %s %s", scope["method"], scope["path"], how, exc_info=told)
            if not begun:
                problem = RoostError(
                    "The control plane failed at this request.", hint="Its log, ROOST_HOME/logs/server.log, says why."
                )
                await self._failure(scope, problem)(scope, receive, send)
        finally:
            self._crowd.release(scope)
