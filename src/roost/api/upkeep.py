"""Routes: disk usage, sweeps, and back-ups."""

from dataclasses import dataclass

from fastapi import Response
from fastapi.responses import StreamingResponse

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain.permissions import Action, Scope
from roost.services import backups, upkeep
from roost.services.upkeep import Swept, Usage

router = Router("upkeep")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    dry_run: bool = False
    """True: only report what would be freed."""
    without: tuple[str, ...] = ()
    """For a dry run: as if these runs were deleted."""


@router.route("GET", "/api/usage", Action.USAGE_READ, Scope.SERVER, answer=Usage)
def usage(context: TheContext, caller: TheCaller) -> Response:
    return answer(upkeep.usage(context, caller))


@router.route("POST", "/api/sweep", Action.SWEEP, Scope.SERVER, body=Sweep, answer=Swept)
def sweep(context: TheContext, caller: TheCaller, body: JsonBytes) -> Response:
    asked = record(Sweep, body)
    return answer(upkeep.sweep(context, caller, dry_run=asked.dry_run, without=asked.without))


@router.route("GET", "/api/backup", Action.BACKUP, Scope.SERVER, answer=bytes, media="application/x-tar")
def backup(context: TheContext, caller: TheCaller) -> Response:
    made = backups.make(context, caller)
    headers = {"content-length": str(made.size)}
    return StreamingResponse(made.pieces, headers=headers, media_type="application/x-tar")
