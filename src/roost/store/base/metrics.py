"""What runs log. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.metrics import Series, Space
from roost.domain.spools import Batch


@dataclass(frozen=True, slots=True)
class SpoolState:
    offset: int
    """The high-water mark: bytes that were stored."""
    names: Mapping[int, str]
    space: Space
    damaged: bool


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One line per metric, for lists and searches that do not read its points."""

    name: str
    space: Space
    kind: str
    """"scalar", "list", "row", "table", "image", …: the kind of the last point."""
    count: int
    last: float | None
    """The last finite or non-finite number; None when the metric is not a number."""
    least: float | None
    most: float | None
    last_step: int | None
    last_at: float
    text: str | None = None
    """The last point as text, when it is no number and short enough."""


class Metrics(Protocol):
    def spool(self, run_id: str, spool: str) -> SpoolState:
        """Zero and no names for a new spool."""

    def append(self, run_id: str, spool: str, offset: int, batch: Batch) -> int:
        """Stores a batch if `offset` is the spool's high-water mark, and moves the mark by `batch.consumed`; otherwise
        changes nothing. Always returns the mark. Small chunks of one metric are merged on arrival."""

    def summaries(self, run_id: str, space: Space = Space.USER) -> Sequence[MetricSummary]: ...
    def summaries_of(self, run_ids: Sequence[str], names: Sequence[str] = ()) -> Mapping[str, Sequence[MetricSummary]]:
        """The summaries of many runs at once, all or those of these names; runs without any are left out."""

    def series(self, run_id: str, name: str, space: Space = Space.USER) -> Sequence[Sequence[Series]]:
        """The metric's series, grouped by spool, in order of arrival. Empty when there is no such metric."""

    def every_series(self, run_id: str, space: Space = Space.USER) -> Mapping[str, Sequence[Sequence[Series]]]:
        """The same for all metrics, by name, in one read."""
