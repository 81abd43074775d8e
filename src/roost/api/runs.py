"""Routes: runs and what happens to them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Response

from roost.api import lanes
from roost.api.answers import answer, joined_answer, plain_answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Count, Finite, Seconds, Whole
from roost.api.waiting import LONGEST_HEARTBEAT, Departure, until
from roost.domain.codec import encode
from roost.domain.permissions import Action, Scope
from roost.domain.runs import Run, RunEvent, RunKind, RunStatus, Submission
from roost.services import metrics, runs
from roost.services.context import Context
from roost.services.runs import Changes, Mark, Report
from roost.services.signals import run_topic
from roost.store.base import MetricSummary, Order, RunColumns, RunQuery

router = Router("runs")

After = Annotated[Whole | None, Query(description="Wait until the run's revision passes this one.")]
Wait = Annotated[Seconds, Query(description="Seconds to wait at most.")]
Clock = Annotated[Finite | None, Header(alias="roost-clock", description="The sender's own time, when it sends this.")]
Flushed = Annotated[
    str | None, Query(description="The wish that was answered; empty for none, yet such wishes are heard.")
]


@dataclass(frozen=True, kw_only=True)
class RunList:
    runs: tuple[Run, ...]


@dataclass(frozen=True, kw_only=True)
class RunTable(RunList):
    metrics: dict[str, tuple[MetricSummary, ...]] = field(default_factory=dict)
    """The requested metrics, by run."""


@dataclass(frozen=True, kw_only=True)
class Story:
    events: tuple[RunEvent, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Deleted:
    deleted: tuple[str, ...]


@router.route(
    "POST",
    "/api/workspaces/{workspace}/runs",
    Action.RUN_SUBMIT,
    Scope.WORKSPACE,
    body=Submission,
    answer=Run,
    statuses=(200, 201),
)
def submit(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    run, new = runs.submit(context, caller, workspace, record(Submission, body))
    return answer(run, 201 if new else 200)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A selection of runs, from the query of the address."""

    experiment: str | None = None
    status: Annotated[list[RunStatus] | None, Query()] = None
    kind: RunKind | None = None
    parent_id: str | None = None
    include_children: bool = False
    tag: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None
    property: Annotated[list[str] | None, Query(description="`k` or `k=v`; repeated")] = None
    since: Annotated[Finite | None, Query(description="Submitted at that time or later.")] = None

    def query(self, workspace: str, limit: int = 100, before: str | None = None) -> RunQuery:
        return RunQuery(
            workspace=workspace,
            experiment=self.experiment,
            status=tuple(self.status or ()),
            kind=self.kind,
            parent_id=self.parent_id,
            include_children=self.include_children,
            tags=pairs(self.tag),
            properties=pairs(self.property),
            limit=limit,
            before=before,
            since=self.since,
        )


async def _selection(**given: Any) -> Selection:
    """An async function, because the framework would use a thread for the class itself."""
    return Selection(**given)


setattr(_selection, "__signature__", signature(Selection))  # noqa: B010 - the type of a function has no such attribute
Chosen = Annotated[Selection, Depends(_selection)]


@router.route("GET", "/api/workspaces/{workspace}/runs", Action.RUN_LIST, Scope.WORKSPACE, answer=RunTable)
def listing(
    context: TheContext,
    caller: TheCaller,
    workspace: str,
    chosen: Chosen,
    limit: Whole = 100,
    before: str | None = None,
    sort: Annotated[str, Query(description="A column, after `-` the highest first; else the newest first.")] = "",
    skip: Annotated[Count, Query(description="With `sort`: so many are left out.")] = 0,
    metric: Annotated[list[str] | None, Query(description="Summaries to send along; `*` for all.")] = None,
) -> Response:
    order = Order(column=sort.removeprefix("-"), descending=sort.startswith("-"), skip=skip) if sort else None
    found = runs.texts(context, caller, chosen.query(workspace, limit, before), order)
    summaries = metrics.summaries_of(context, caller, list(found), metric or ())
    return joined_answer("runs", found.values(), {"metrics": encode(summaries)})


@router.route("GET", "/api/workspaces/{workspace}/runs/columns", Action.RUN_LIST, Scope.WORKSPACE, answer=RunColumns)
def columns(context: TheContext, caller: TheCaller, workspace: str, chosen: Chosen) -> Response:
    """Returns the columns that these runs have beside their fields: arguments, metrics, tags."""
    return answer(runs.columns(context, caller, chosen.query(workspace)))


def pairs(given: list[str] | None) -> dict[str, str | None]:
    """Labels from the address: `k` for any value, `k=v` for that one."""
    parts = (each.partition("=") for each in given or ())
    return {key: value if equals else None for key, equals, value in parts}


@router.route("GET", "/api/runs/{run_id}", Action.RUN_READ, Scope.RUN, answer=Run)
async def get(context: TheContext, caller: TheCaller, run_id: str, after: After = None, wait: Wait = 0) -> Response:
    return answer(await changed(context, run_id, after, wait, lambda: runs.get(context, caller, run_id)))


@router.route("POST", "/api/runs/{run_id}/heartbeat", Action.RUN_REPORT, Scope.RUN, answer=Run)
async def heartbeat(
    request: Request,
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    after: After = None,
    wait: Wait = 0,
    flushed: Flushed = None,
) -> Response:
    """With `flushed`, the answer may have a `flush` beside the run's own fields: a request to send everything written so far."""
    run = await lanes.run(runs.heartbeat, context, caller, run_id)
    if flushed:
        context.flushes.answered(run_id, flushed)
        context.signals.notify(run_topic(run_id))

    def wish() -> str:
        return context.flushes.wanted(run_id) if flushed is not None else ""

    def enough(found: Run) -> bool:
        return after is None or found.revision > after or bool(wish())

    if not enough(run) and wait > 0:
        with context.present.at(run_id):
            async with Departure(request) as left:
                run = await until(
                    context,
                    run_topic(run_id),
                    min(wait, LONGEST_HEARTBEAT),
                    lambda: runs.get(context, caller, run_id),
                    lambda found: enough(found) or found.status.is_terminal,
                    left,
                )
        context.heard.put(run_id, context.clock())
        if left.noticed:
            await lanes.run(runs.missed, context, run)
    return plain_answer({**encode(run), "flush": mark}) if (mark := wish()) else answer(run)


async def changed(context: Context, run_id: str, after: int | None, wait: float, look: Callable[[], Run]) -> Run:
    return await until(
        context,
        run_topic(run_id),
        wait,
        look,
        lambda run: after is None or run.revision > after or run.status.is_terminal,
    )


@router.route("GET", "/api/runs/{run_id}/events", Action.RUN_READ, Scope.RUN, answer=Story)
def events(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    happened = tuple(runs.events(context, caller, run_id))
    return answer(Story(events=happened, why=runs.why(context, runs.get(context, caller, run_id))))


@router.route("POST", "/api/runs/{run_id}/events", Action.RUN_REPORT, Scope.RUN, body=Report, answer=Run)
def report(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes, clock: Clock = None) -> Response:
    return answer(runs.report(context, caller, run_id, record(Report, body), clock))


@router.route("PATCH", "/api/runs/{run_id}", Action.RUN_ANNOTATE, Scope.RUN, body=Changes, answer=Run)
def annotate(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(runs.annotate(context, caller, run_id, record(Changes, body)))


@router.route("DELETE", "/api/runs/{run_id}", Action.RUN_DELETE, Scope.RUN, answer=Deleted)
def delete(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    return answer(Deleted(deleted=tuple(runs.delete(context, caller, run_id))))


@router.route("POST", "/api/runs/{run_id}/cancel", Action.RUN_CANCEL, Scope.RUN, answer=Run)
def cancel(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    return answer(runs.cancel(context, caller, run_id))


@router.route("POST", "/api/runs/{run_id}/mark", Action.RUN_MARK, Scope.RUN, body=Mark, answer=Run)
def mark(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(runs.mark(context, caller, run_id, record(Mark, body)))
