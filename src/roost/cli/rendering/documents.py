"""What a run logged as a document (confusion matrix, accuracy table, predictions, residuals), read into numbers. Pure.

A document is whatever its script wrote: what is not as it should be raises Unreadable with the reason, and nothing else.
How they are drawn: `drawing.py`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

TITLES = {
    "confusion_matrix": "confusion matrix",
    "accuracy_table": "accuracy table",
    "predictions": "predictions",
    "residuals": "residuals",
}
"""Kinds of metrics that are documents, in words."""
MAX_BYTES = 5_000_000
"""Of a document that is drawn, as on the page; reading the numbers of a larger one takes too long."""
_MAX_CELLS = 4_000_000
_MOST = 1e100
"""A greater number is none that was counted, and sums of it would leave what a float holds."""


class Unreadable(Exception):
    """A document that is not what its kind says, with the reason in words."""


@dataclass(frozen=True)
class Confusion:
    labels: list[str]
    counts: list[list[float]]
    """By true class, then by predicted class."""

    @property
    def total(self) -> float:
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float | None:
        return _share(sum(row[at] for at, row in enumerate(self.counts)), self.total)

    def recall(self, at: int) -> float | None:
        return _share(self.counts[at][at], sum(self.counts[at]))

    def precision(self, at: int) -> float | None:
        return _share(self.counts[at][at], sum(row[at] for row in self.counts))

    def taken_for(self, at: int) -> tuple[str, float] | None:
        """The class that this one is mostly confused with, and how often; None for never."""
        others = [(count, place) for place, count in enumerate(self.counts[at]) if place != at and count > 0]
        if not others:
            return None
        most, place = max(others, key=lambda pair: pair[0])
        return self.labels[place], most


@dataclass(frozen=True)
class Counts:
    """At one threshold: true positives, false positives, true negatives, false negatives."""

    tp: float
    fp: float
    tn: float
    fn: float

    @property
    def precision(self) -> float | None:
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        return _share(self.tp, self.tp + self.fn)

    @property
    def false_rate(self) -> float | None:
        return _share(self.fp, self.fp + self.tn)

    @property
    def f1(self) -> float | None:
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)


@dataclass(frozen=True)
class Accuracy:
    labels: list[str]
    thresholds: list[float]
    tables: list[list[Counts]]
    """By class, then by threshold."""

    def summed(self) -> list[Counts]:
        """All classes together, by threshold."""
        return [
            Counts(*(sum(getattr(table[at], name) for table in self.tables) for name in ("tp", "fp", "tn", "fn")))
            for at in range(len(self.thresholds))
        ]


@dataclass(frozen=True)
class Histogram:
    edges: list[float]
    """One more than counts."""
    counts: list[float]
    averages: list[float]
    """Of predictions, the mean of each bin; empty for residuals."""
    errors: list[float]


Document = Confusion | Accuracy | Histogram


def read(kind: str, content: bytes) -> Document:
    """The document that a file holds."""
    if len(content) > MAX_BYTES:
        raise Unreadable(f"it has {len(content):,} bytes, too many to draw")
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON") from None
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise Unreadable("it has no 'data'")
    if kind == "confusion_matrix":
        return _confusion(data)
    return _accuracy(data) if kind == "accuracy_table" else _histogram(kind, data)


def _confusion(data: dict[str, Any]) -> Confusion:
    labels = [str(label) for label in _list(data, "class_labels")]
    rows = [_numbers(row, "matrix") for row in _list(data, "matrix")]
    if not labels:
        raise Unreadable("it has no classes")
    if len(rows) != len(labels) or any(len(row) != len(labels) for row in rows):
        raise Unreadable(f"its matrix does not have {len(labels)} rows of {len(labels)} numbers")
    if any(count < 0 for row in rows for count in row):
        raise Unreadable("its matrix has a count below zero")
    return Confusion(labels, rows)


def _accuracy(data: dict[str, Any]) -> Accuracy:
    thresholds = _numbers(_list(data, "probability_thresholds"), "probability_thresholds")
    tables = []
    for table in _list(data, "probability_tables"):
        rows = [_numbers(row, "probability_tables") for row in (table if isinstance(table, list) else [])]
        if len(rows) != len(thresholds) or any(len(row) < 4 for row in rows):
            raise Unreadable("its probability_tables do not have four numbers for each threshold")
        if any(count < 0 for row in rows for count in row[:4]):
            raise Unreadable("its probability_tables have a count below zero")
        tables.append([Counts(*row[:4]) for row in rows])
    labels = [str(label) for label in _list(data, "class_labels")]
    if not tables or not thresholds:
        raise Unreadable("it has no thresholds")
    return Accuracy([*labels, *map(str, range(len(labels), len(tables)))][: len(tables)], thresholds, tables)


def _histogram(kind: str, data: dict[str, Any]) -> Histogram:
    edges = _numbers(_list(data, "bin_edges"), "bin_edges")
    counts = _numbers(_list(data, "bin_counts"), "bin_counts")
    if not counts or len(edges) != len(counts) + 1:
        raise Unreadable(f"it has {len(edges)} bin edges for {len(counts)} bin counts")
    averages = _numbers(_list(data, "bin_averages"), "bin_averages") if kind == "predictions" else []
    errors = _numbers(_list(data, "bin_errors"), "bin_errors") if kind == "predictions" else []
    if any(found and len(found) != len(counts) for found in (averages, errors)):
        raise Unreadable("its bin_averages and bin_errors are not as many as its bin_counts")
    return Histogram(edges, counts, averages, errors)


def _list(data: dict[str, Any], name: str) -> list[Any]:
    found = data.get(name)
    if not isinstance(found, list):
        raise Unreadable(f"it has no list {name!r}")
    if len(found) > _MAX_CELLS:
        raise Unreadable(f"its {name!r} has {len(found):,} values")
    return found


def _numbers(values: object, name: str) -> list[float]:
    if not isinstance(values, list):
        raise Unreadable(f"{name!r} is not made of lists")
    return [_number(value, name) for value in values]


def _number(value: object, name: str) -> float:
    """NaN and what cannot be counted are 0: a picture of the rest is better than none."""
    if value is None:
        return 0.0
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise Unreadable(f"{name!r} has a value that is no number: {str(value)[:40]!r}") from None
    return number if abs(number) <= _MOST else 0.0


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def curve(counts: Sequence[Counts]) -> list[tuple[float, float]]:
    """The points of a ROC curve, from (0, 0) to (1, 1)."""
    points = {(each.false_rate or 0.0, each.recall or 0.0) for each in counts}
    return sorted(points | {(0.0, 0.0), (1.0, 1.0)})


def area(points: Sequence[tuple[float, float]]) -> float:
    """The area below a curve."""
    return sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(points))


def merged(found: Histogram, most: int) -> tuple[Histogram, int]:
    """With at most so many bins, and how many of the first are in one of these."""
    size = -(-len(found.counts) // most)
    if size == 1:
        return found, 1
    starts = range(0, len(found.counts), size)
    edges = [found.edges[at] for at in starts] + [found.edges[-1]]
    counts = [sum(found.counts[at : at + size]) for at in starts]
    return (
        Histogram(edges, counts, _means(found.averages, found, size), _means(found.errors, found, size)),
        size,
    )


def _means(values: Sequence[float], found: Histogram, size: int) -> list[float]:
    """Means of several bins, each as heavy as it is full."""
    means = []
    for at in range(0, len(values), size):
        weights = found.counts[at : at + size]
        some, total = values[at : at + size], sum(weights)
        means.append(sum(v * w for v, w in zip(some, weights, strict=True)) / total if total else sum(some) / len(some))
    return means
