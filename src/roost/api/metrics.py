"""Routes: metrics, received as spool bytes, returned as people logged them or thinned for a chart."""

import math
from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer, plain_answer
from roost.api.bodies import SpoolBytes
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import AtLeastOne, Offset
from roost.domain.metrics import Space
from roost.domain.permissions import Action, Scope
from roost.domain.runs import RunKind
from roost.services import metrics
from roost.services.metrics import Mark
from roost.store.base import MetricSummary

router = Router("metrics")


@dataclass(frozen=True, kw_only=True)
class SummaryList:
    metrics: tuple[MetricSummary, ...]


@dataclass(frozen=True, kw_only=True)
class Values:
    """As `get_metrics` shows them."""

    metrics: dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Points:
    """The points of a chart; a value that is not finite is null."""

    name: str
    count: int
    """The number of all points, before thinning."""
    indexes: tuple[int, ...]
    steps: tuple[int | None, ...]
    times: tuple[float, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class SpoolMark(Mark):
    pace: float = 0.0
    """Seconds after which the sender should send again, at the soonest."""


@router.route("POST", "/api/runs/{run_id}/spools/{spool}", Action.METRIC_WRITE, Scope.RUN, body=bytes, answer=SpoolMark)
def take_in(
    context: TheContext, caller: TheCaller, run_id: str, spool: str, data: SpoolBytes, offset: Offset
) -> Response:
    mark = metrics.take_in(context, caller, run_id, spool, offset, data)
    return answer(SpoolMark(offset=mark.offset, damaged=mark.damaged, pace=context.pacing.sent(run_id)))


@router.route("GET", "/api/runs/{run_id}/metrics", Action.METRIC_READ, Scope.RUN, answer=Values)
def read_back(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    name: str | None = None,
    recursive: bool = False,
    kind: RunKind | None = None,
) -> Response:
    if recursive:
        return plain_answer({"metrics": metrics.read_back_all(context, caller, run_id, name, kind)})
    return plain_answer({"metrics": metrics.read_back(context, caller, run_id, name)})


@router.route("GET", "/api/runs/{run_id}/metrics/summary", Action.METRIC_READ, Scope.RUN, answer=SummaryList)
def summary(context: TheContext, caller: TheCaller, run_id: str, space: Space = Space.USER) -> Response:
    return answer(SummaryList(metrics=tuple(metrics.summaries(context, caller, run_id, space))))


@router.route("GET", "/api/runs/{run_id}/metrics/points", Action.METRIC_READ, Scope.RUN, answer=Points)
def points(
    context: TheContext,
    caller: TheCaller,
    run_id: str,
    name: str,
    buckets: AtLeastOne = 1000,
    space: Space = Space.USER,
) -> Response:
    chart = metrics.chart(context, caller, run_id, name, buckets, space)
    return answer(
        Points(
            name=name,
            count=chart.count,
            indexes=tuple(chart.indexes),
            steps=tuple(chart.steps),
            times=tuple(chart.times),
            values=tuple(value if math.isfinite(value) else None for value in chart.values),
        )
    )
