"""What a run has logged, one line per metric: how many points, the last, the least, the most."""

from collections.abc import Mapping
from typing import Any

from roost.cli import rendering
from roost.cli.rendering import documents
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of


def summaries(run: Run) -> list[dict[str, Any]]:
    answer = run._connection.client.call("GET", path_of("runs", run.id, "metrics", "summary"))
    found: list[dict[str, Any]] = answer["metrics"]
    return found


def table(found: list[dict[str, Any]], courses: dict[str, str] | None = None) -> None:
    rows = [
        (
            each["name"],
            str(each["count"]),
            last(each),
            _cell(each["least"]),
            _cell(each["most"]),
            (courses or {}).get(each["name"], ""),
        )
        for each in found
    ]
    columns = ("metric", "points", "last", "least", "most", "course")
    width = len(columns) if courses else len(columns) - 1
    rendering.table(
        columns[:width], [row[:width] for row in rows], drop=("course",) if courses else (), cut=("metric", "last")
    )


def last(metric: Mapping[str, Any]) -> str:
    """The last point of a metric's summary: a number, its words, or for what cannot be said in a few its kind."""
    if metric["kind"] != "scalar":
        return str(metric["text"]) if metric.get("text") is not None else title(metric)
    return _cell(metric["last"]) or str(metric["kind"])


def title(metric: Mapping[str, Any]) -> str:
    return documents.TITLES.get(metric["kind"], str(metric["kind"]))


def _cell(value: Any) -> str:
    return str(value["float"]) if isinstance(value, dict) and "float" in value else rendering.number(value)
