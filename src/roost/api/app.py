"""The application: routers, the guard in front of them, and the handlers of errors."""

from collections.abc import Callable, Sequence

from fastapi import FastAPI

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
from roost.api.bodies import BodyLimits
from roost.api.doors import Router, served
from roost.api.errors import HANDLED, ErrorShapes, explain
from roost.api.guard import Guard
from roost.api.lanes import Lanes
from roost.services.context import Context
from roost.version import VERSION

ROUTERS = (
    server.router,
    workspaces.router,
    experiments.router,
    compute.router,
    environments.router,
    runs.router,
    children.router,
    gangs.router,
    metrics.router,
    streams.router,
    files.router,
    blobs.router,
    secrets.router,
    datastores.router,
    datasets.router,
    endpoints.router,
    models.router,
    sessions.router,
    upkeep.router,
)


def create_app(
    context: Context, *, hosts: frozenset[str], stop: Callable[[], None], pages: Sequence[Router] = ()
) -> FastAPI:
    """The app for this context; `hosts` are the accepted Host headers, `stop` ends the server, `pages` are for browsers."""
    app = FastAPI(
        title="Roost", version=VERSION, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.context = context
    app.state.stop = stop
    app.state.limits = BodyLimits()
    app.state.lanes = Lanes()
    routers = (*ROUTERS, *pages)
    app.state.error_shapes = ErrorShapes(router.errors for router in routers)
    for router in routers:
        router.mount(app)
    served(app)
    for kind in HANDLED:
        app.add_exception_handler(kind, explain)
    app.add_middleware(Guard, hosts=hosts, limits=app.state.limits, shapes=app.state.error_shapes)
    return app
