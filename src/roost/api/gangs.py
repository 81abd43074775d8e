"""Routes: the agents of a run with several nodes. They meet, report their state, and send each other commands."""

from dataclasses import dataclass

from fastapi import Response

from roost.api import lanes
from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Whole
from roost.api.runs import After, Clock, Wait, changed
from roost.api.waiting import LONGEST_MEMBER_HEARTBEAT, until
from roost.domain.gangs import Member, all_met, may_deliver
from roost.domain.permissions import Action, Scope
from roost.domain.runs import Run
from roost.services import gangs, runs
from roost.services.gangs import Meeting, MemberReport, Order
from roost.services.signals import gang_topic
from roost.store.base import Command

router = Router("gangs")


@dataclass(frozen=True, kw_only=True)
class MemberList:
    members: tuple[Member, ...]
    met: bool
    """True when all are ready to start."""


@dataclass(frozen=True, kw_only=True)
class CommandList:
    commands: tuple[Command, ...]


@dataclass(frozen=True, kw_only=True)
class Numbered:
    number: int
    """The number of the command."""


@dataclass(frozen=True, kw_only=True)
class CommandEnd:
    exit_code: int
    attempt: int = 0
    """The attempt of the agent that reports."""


@router.route("GET", "/api/runs/{run_id}/agents", Action.GANG_READ, Scope.RUN, answer=MemberList)
async def listing(
    context: TheContext, caller: TheCaller, run_id: str, before: Whole | None = None, wait: Wait = 0
) -> Response:
    """With `before`, answers once it is decided whether the node of that rank may deliver its data, or after `wait` seconds."""

    def read() -> tuple[Member, ...]:
        return tuple(gangs.members(context, caller, run_id))

    def ready(members: tuple[Member, ...]) -> bool:
        return before is None or may_deliver(members, before) is not None

    return answer(_list(await until(context, gang_topic(run_id), wait, read, ready)))


@router.route(
    "POST", "/api/runs/{run_id}/agents/{node_rank}/meet", Action.RUN_REPORT, Scope.RUN, body=Meeting, answer=MemberList
)
async def meet(
    context: TheContext, caller: TheCaller, run_id: str, node_rank: Whole, body: JsonBytes, wait: Wait = 0
) -> Response:
    said = record(Meeting, body)
    everyone = await lanes.run(gangs.meet, context, caller, run_id, node_rank, said)
    if not all_met(everyone):
        everyone = await until(
            context, gang_topic(run_id), wait, lambda: gangs.members(context, caller, run_id), all_met
        )
    return answer(_list(tuple(everyone)))


def _list(members: tuple[Member, ...]) -> MemberList:
    return MemberList(members=members, met=all_met(members))


@router.route("POST", "/api/runs/{run_id}/agents/{node_rank}/heartbeat", Action.RUN_REPORT, Scope.RUN, answer=Run)
async def heartbeat(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    node_rank: Whole,
    after: After = None,
    wait: Wait = 0,
    attempt: Whole = 0,
) -> Response:
    run = await lanes.run(gangs.heartbeat, context, caller, run_id, node_rank, attempt)
    if after is None or run.revision > after or wait <= 0:
        return answer(run)
    longest = min(wait, LONGEST_MEMBER_HEARTBEAT)
    return answer(await changed(context, run_id, after, longest, lambda: runs.get(context, caller, run_id)))


@router.route(
    "POST", "/api/runs/{run_id}/agents/{node_rank}/events", Action.RUN_REPORT, Scope.RUN, body=MemberReport, answer=Run
)
def report(
    context: TheContext, caller: TheCaller, run_id: str, node_rank: Whole, body: JsonBytes, clock: Clock = None
) -> Response:
    return answer(gangs.report(context, caller, run_id, node_rank, record(MemberReport, body), clock))


@router.route(
    "POST",
    "/api/runs/{run_id}/agents/{node_rank}/commands",
    Action.GANG_COMMAND,
    Scope.RUN,
    body=Order,
    answer=Numbered,
    statuses=(201,),
)
def send(context: TheContext, caller: TheCaller, run_id: str, node_rank: Whole, body: JsonBytes) -> Response:
    return answer(Numbered(number=gangs.send(context, caller, run_id, node_rank, record(Order, body))), 201)


@router.route("GET", "/api/runs/{run_id}/agents/{node_rank}/commands", Action.GANG_READ, Scope.RUN, answer=CommandList)
async def commands(
    context: TheContext, caller: TheCaller, run_id: str, node_rank: Whole, after: Whole = 0, wait: Wait = 0
) -> Response:
    """Returns the commands for one node with a larger number than `after`, as soon as there is one."""

    def look() -> tuple[Command, ...]:
        return tuple(each for each in gangs.commands(context, caller, run_id, after) if each.node_rank == node_rank)

    return answer(CommandList(commands=await until(context, gang_topic(run_id), wait, look, bool)))


@router.route("GET", "/api/runs/{run_id}/commands/{number}", Action.GANG_READ, Scope.RUN, answer=CommandList)
async def command(context: TheContext, caller: TheCaller, run_id: str, number: Whole, wait: Wait = 0) -> Response:
    """Returns the command as soon as it has ended."""

    def look() -> tuple[Command, ...]:
        found = gangs.command(context, caller, run_id, number)
        return () if found is None else (found,)

    def enough(found: tuple[Command, ...]) -> bool:
        return not found or found[0].exit_code is not None

    return answer(CommandList(commands=await until(context, gang_topic(run_id), wait, look, enough)))


@router.route(
    "POST", "/api/runs/{run_id}/commands/{number}", Action.GANG_COMMAND, Scope.RUN, body=CommandEnd, answer=Numbered
)
def end_command(context: TheContext, caller: TheCaller, run_id: str, number: Whole, body: JsonBytes) -> Response:
    said = record(CommandEnd, body)
    gangs.end_command(context, caller, run_id, number, said.exit_code, said.attempt)
    return answer(Numbered(number=number))
