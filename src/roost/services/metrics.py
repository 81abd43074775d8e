"""Metrics: spool bytes are stored once and in order; they are read back as people logged them, or thinned for a chart."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roost.domain import metrics as meaning
from roost.domain import names
from roost.domain.metrics import Chart, Encoding, Series, Space
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import RunKind
from roost.domain.spools import Batch, decode
from roost.services import lineage
from roost.services.context import Context
from roost.store.base import MetricSummary, SpoolState

MAX_BUCKETS = 20_000
EVERY = "*"


@dataclass(frozen=True, kw_only=True)
class Mark:
    offset: int
    """Bytes of the spool that are stored: the next request starts there."""
    damaged: bool = False
    """True when nothing after this offset can be read; the shipper stops."""


def take_in(context: Context, caller: Caller, run_id: str, spool: str, offset: int, data: bytes) -> Mark:
    """Stores whole frames if `offset` is the mark; always returns the mark.

    Two shippers of one spool at once are harmless: the store moves the mark for one of them, the other gets the new mark.
    """
    caller.require(Action.METRIC_WRITE)
    state = _state_at(context, run_id, names.spool(spool), offset)
    if offset != state.offset or state.damaged:
        return Mark(offset=state.offset, damaged=state.damaged)
    batch = decode(data, state.names)
    if not batch.consumed and not batch.damaged:
        return Mark(offset=offset)
    mark = context.store.metrics.append(run_id, spool, offset, batch)
    if mark == offset + batch.consumed:
        context.spools.put((run_id, spool), _after(state, batch, mark))
        return Mark(offset=mark, damaged=batch.damaged)
    context.spools.drop((run_id, spool))
    return Mark(offset=mark, damaged=context.store.metrics.spool(run_id, spool).damaged)


def _state_at(context: Context, run_id: str, spool: str, offset: int) -> SpoolState:
    """The cached state if its offset is the shipper's; else the store's."""
    kept = context.spools.get((run_id, spool))
    if kept is not None and kept.offset == offset:
        return kept
    context.store.runs.get(names.run_id(run_id))
    return context.store.metrics.spool(run_id, spool)


def _after(state: SpoolState, batch: Batch, mark: int) -> SpoolState:
    table = {**state.names, **batch.names} if batch.names else state.names
    return SpoolState(mark, table, batch.space or state.space, batch.damaged)


def read_back(context: Context, caller: Caller, run_id: str, name: str | None = None) -> Mapping[str, Any]:
    """The values that `get_metrics` shows: every metric of the run, or the named one (empty when there is none)."""
    caller.require(Action.METRIC_READ)
    context.store.runs.get(names.run_id(run_id))
    store = context.store.metrics
    every = store.every_series(run_id) if name is None else {name: store.series(run_id, name)}
    return {each: _values(by_spool) for each, by_spool in every.items() if any(by_spool)}


def read_back_all(
    context: Context, caller: Caller, run_id: str, name: str | None = None, kind: RunKind | None = None
) -> Mapping[str, Mapping[str, Any]]:
    """The same for a run and all runs below it, or those of one kind, by run."""
    caller.require(Action.METRIC_READ)
    run = context.store.runs.get(names.run_id(run_id))
    family = [run, *lineage.below(context, run)]
    return {each.id: read_back(context, caller, each.id, name) for each in family if kind in (None, each.spec.kind)}


def _values(by_spool: Sequence[Sequence[Series]]) -> Any:
    """Like the domain's `read_back`, but numbers, by far the most frequent, need no object per point."""
    parts = [series for group in by_spool for series in group]
    if any(series.encoding is Encoding.OBJECT for series in parts):
        points = [[point for series in group for point in meaning.points(series)] for group in by_spool]
        return meaning.read_back(meaning.in_order(points))
    values = [value for series in parts for value in meaning.numbers(series)]
    if len(by_spool) > 1:
        times = array("d", b"".join(series.times for series in parts))
        values = [values[place] for place in sorted(range(len(values)), key=times.__getitem__)]
    return values[0] if len(values) == 1 else values


def summaries(context: Context, caller: Caller, run_id: str, space: Space = Space.USER) -> Sequence[MetricSummary]:
    caller.require(Action.METRIC_READ)
    context.store.runs.get(names.run_id(run_id))
    return context.store.metrics.summaries(run_id, space)


def summaries_of(
    context: Context, caller: Caller, run_ids: Sequence[str], wanted: Sequence[str]
) -> Mapping[str, Sequence[MetricSummary]]:
    """The summaries of many runs: of the named metrics, or of all when the names include `*`."""
    caller.require(Action.METRIC_READ)
    return context.store.metrics.summaries_of(run_ids, () if EVERY in wanted else wanted) if wanted else {}


def chart(context: Context, caller: Caller, run_id: str, name: str, buckets: int, space: Space = Space.USER) -> Chart:
    """One metric thinned for drawing; no points when there is no such metric."""
    caller.require(Action.METRIC_READ)
    context.store.runs.get(names.run_id(run_id))
    return meaning.chart(context.store.metrics.series(run_id, name, space), min(buckets, MAX_BUCKETS))
