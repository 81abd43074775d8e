"""Routes: the control plane itself."""

from dataclasses import dataclass

from fastapi import Request, Response
from starlette.background import BackgroundTask

from roost.api.answers import answer
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.openapi import describe
from roost.domain.permissions import Action, Scope
from roost.services import runs
from roost.version import API_LEVEL, VERSION

router = Router("server")


@dataclass(frozen=True, kw_only=True)
class Health:
    name: str
    version: str
    api_level: int
    instance: str


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    version: str
    api_level: int
    instance: str
    pid: int
    home: str
    started_at: float
    now: float
    active_runs: int
    blob_folder: str


@router.route("GET", "/api/health", Action.HEALTH_READ, Scope.SERVER, answer=Health)
async def health(context: TheContext) -> Response:
    return answer(Health(name="roost", version=VERSION, api_level=API_LEVEL, instance=context.facts.instance))


@router.route("GET", "/api/server", Action.SERVER_READ, Scope.SERVER, answer=ServerFacts)
def server_facts(context: TheContext, caller: TheCaller) -> Response:
    facts = context.facts
    return answer(
        ServerFacts(
            version=VERSION,
            api_level=API_LEVEL,
            instance=facts.instance,
            pid=facts.pid,
            home=facts.home,
            started_at=facts.started_at,
            now=context.clock(),
            active_runs=runs.active(context, caller),
            blob_folder=facts.blob_folder,
        )
    )


@dataclass(frozen=True, kw_only=True)
class Stopping:
    stopping: bool


@router.route("POST", "/api/server/shutdown", Action.SERVER_STOP, Scope.SERVER, answer=Stopping, statuses=(202,))
async def shutdown(request: Request) -> Response:
    done = answer(Stopping(stopping=True), 202)
    done.background = BackgroundTask(request.app.state.stop)
    return done


@router.route("GET", "/api/openapi.json", Action.SERVER_READ, Scope.SERVER, answer=dict)
def openapi(request: Request) -> Response:
    return answer(describe(request.app))
