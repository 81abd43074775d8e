"""Routes: what takes room, freeing it, and a copy of everything."""

from dataclasses import dataclass

from fastapi import Response
from fastapi.responses import StreamingResponse

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheHouse
from roost.services import backups, upkeep
from roost.services.upkeep import Swept, Usage

desk = Desk("upkeep")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    dry_run: bool = False
    """Say what would go."""
    without: tuple[str, ...] = ()
    """In a dry run: as if these runs were deleted."""


@desk.route("GET", "/api/usage", Access.PERSON, answer=Usage)
def usage(house: TheHouse) -> Response:
    return answer(upkeep.usage(house))


@desk.route("POST", "/api/sweep", Access.PERSON, body=Sweep, answer=Swept)
def sweep(house: TheHouse, body: JsonBytes) -> Response:
    asked = record(Sweep, body)
    return answer(upkeep.sweep(house, dry_run=asked.dry_run, without=asked.without))


@desk.route("GET", "/api/backup", Access.PERSON, answer=bytes, media="application/x-tar")
def backup(house: TheHouse) -> Response:
    made = backups.make(house)
    headers = {"content-length": str(made.size)}
    return StreamingResponse(made.pieces, headers=headers, media_type="application/x-tar")
