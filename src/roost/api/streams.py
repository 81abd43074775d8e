"""Routes: live text of a run."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import StreamBytes
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import AtLeastOne, Offset, Seconds
from roost.api.waiting import until
from roost.domain.permissions import Action, Scope
from roost.services import streams
from roost.services.signals import run_topic

router = Router("streams")


@dataclass(frozen=True, kw_only=True)
class StreamMark:
    offset: int
    pace: float = 0.0
    """Seconds after which the sender should send again, at the soonest."""


@router.route(
    "POST", "/api/runs/{run_id}/streams/{name:path}", Action.LOG_WRITE, Scope.RUN, body=bytes, answer=StreamMark
)
def append(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    name: str,
    data: StreamBytes,
    offset: Offset,
    reset: bool = False,
) -> Response:
    mark = streams.append(context, caller, run_id, name, offset, data, reset=reset)
    return answer(StreamMark(offset=mark, pace=context.pacing.sent(run_id)))


@router.route("GET", "/api/runs/{run_id}/streams/{name:path}", Action.LOG_READ, Scope.RUN, answer=bytes)
async def read(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    name: str,
    offset: Offset = 0,
    wait: Seconds = 0,
    limit: AtLeastOne = streams.MAX_READ,
) -> Response:
    piece = await until(
        context,
        run_topic(run_id),
        wait,
        lambda: streams.read(context, caller, run_id, name, offset, limit),
        lambda seen: bool(seen.data) or seen.over,
    )
    headers = {
        "roost-offset": str(piece.offset),
        "roost-status": piece.status.value,
        "roost-sealed": "1" if piece.sealed else "0",
        "roost-over": "1" if piece.over else "0",
    }
    return Response(piece.data, 200, headers, "application/octet-stream")
