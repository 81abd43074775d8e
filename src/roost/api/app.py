"""The application: routers, the guard in front of them, and the one place where errors become answers."""

import errno
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from roost.api import (
    blobs,
    children,
    compute,
    datasets,
    datastores,
    endpoints,
    environments,
    experiments,
    files,
    gangs,
    metrics,
    models,
    runs,
    secrets,
    server,
    sessions,
    streams,
    upkeep,
    workspaces,
)
from roost.api.answers import failure
from roost.api.bodies import Crowd
from roost.api.doors import Desk, served
from roost.api.guard import Guard
from roost.api.lanes import Lanes
from roost.domain.errors import DiskFull, InvalidInput, NotFound, RoostError
from roost.services.house import House
from roost.version import VERSION

DESKS = (
    server.desk,
    workspaces.desk,
    experiments.desk,
    compute.desk,
    environments.desk,
    runs.desk,
    children.desk,
    gangs.desk,
    metrics.desk,
    streams.desk,
    files.desk,
    blobs.desk,
    secrets.desk,
    datastores.desk,
    datasets.desk,
    endpoints.desk,
    models.desk,
    sessions.desk,
    upkeep.desk,
)


def create_app(house: House, *, hosts: frozenset[str], stop: Callable[[], None], pages: Sequence[Desk] = ()) -> FastAPI:
    """The app for this house; `hosts` are the Host headers it answers to, `stop` ends the server, `pages` are for browsers."""
    app = FastAPI(
        title="Roost", version=VERSION, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.house = house
    app.state.stop = stop
    app.state.crowd = Crowd()
    app.state.lanes = Lanes()
    for desk in (*DESKS, *pages):
        desk.mount(app)
    served(app)
    for kind in (RoostError, RequestValidationError, HTTPException, OSError):
        app.add_exception_handler(kind, _explain)
    app.add_middleware(Guard, hosts=hosts, crowd=app.state.crowd)
    return app


async def _explain(request: Request, error: Exception) -> Response:
    """The one door from an error to an answer. What is not foreseen here is the guard's."""
    if isinstance(error, RoostError):
        return failure(error)
    if isinstance(error, RequestValidationError):
        return failure(_misfit(error))
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        problem = f"{request.method} {request.url.path} is not a route of this server."
        return failure(NotFound(problem, hint="GET /api/openapi.json lists them."), error.status_code, error.headers)
    if isinstance(error, HTTPException):
        return failure(InvalidInput(str(error.detail)), error.status_code, error.headers)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return failure(DiskFull("The control plane's disk is full.", hint="Free some room where ROOST_HOME is."))
    raise error


def _misfit(error: RequestValidationError) -> InvalidInput:
    first = error.errors()[0]
    kind, *rest = (str(part) for part in first["loc"])
    return InvalidInput(
        f"{kind} parameter `{'.'.join(rest)}` does not fit: {first['msg']}, got {first.get('input')!r}."
    )
