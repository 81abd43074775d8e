"""The application: routers, the guard in front of them, and how errors become answers."""

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
from roost.api.bodies import Crowd
from roost.api.doors import Desk, served
from roost.api.errors import HANDLED, ErrorShapes, explain
from roost.api.guard import Guard
from roost.api.lanes import Lanes
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
    desks = (*DESKS, *pages)
    app.state.error_shapes = ErrorShapes(desk.errors for desk in desks)
    for desk in desks:
        desk.mount(app)
    served(app)
    for kind in HANDLED:
        app.add_exception_handler(kind, explain)
    app.add_middleware(Guard, hosts=hosts, crowd=app.state.crowd, shapes=app.state.error_shapes)
    return app
