"""What scoring scripts collect: rows of every form, bounded, printed where there is no service."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from azureml.monitoring import ModelDataCollector
from roost_job import monitoring
from roost_job.exceptions import UserErrorException


class Array:
    """As NumPy's arrays, as far as that matters."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def tolist(self) -> Any:
        return self._values


class Frame:
    columns = ("a", 2)
    values = Array([[1, "x"], [float("nan"), "y"]])


@pytest.fixture
def kept() -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    monitoring.keep_with(lambda body: found.append(json.loads(body)) is None)
    yield found
    monitoring.keep_with(None)


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        ([[1, 2], [3, 4]], None, [[1, 2], [3, 4]]),
        ([1.5, "x", None], None, [[1.5], ["x"], [None]]),
        (Array([[1.0, float("inf")]]), None, [[1.0, None]]),
        ([Array([1, 2]), Array([3, 4])], None, [[1, 2], [3, 4]]),
        (Frame(), ["a", "2"], [[1, "x"], [None, "y"]]),
        ([{"a": 1}, {"b": 2}], ["a", "b"], [[1, None], [None, 2]]),
        ({"a": Array(1)}, ["a"], [[1]]),
        (7, None, [[7]]),
        (object, None, [[str(object)]]),
        ([[{"x": b"y"}]], None, [[{"x": "b'y'"}]]),
        ([], None, []),
    ],
)
def test_rows_of_every_form(data: object, columns: object, rows: object, kept: list[dict[str, Any]]) -> None:
    ModelDataCollector("net", designation="inputs").collect(data)
    assert (kept[0]["columns"], kept[0]["rows"], kept[0]["row_count"]) == (columns, rows, len(kept[0]["rows"]))


def test_what_is_said_of_them(kept: list[dict[str, Any]]) -> None:
    ModelDataCollector("net", "predictions", feature_names=["p"]).collect([1], user_correlation_id="req-1")
    ModelDataCollector("net", identifier="inputs").collect([1])
    assert [each["designation"] for each in kept] == ["predictions", "inputs"]
    assert (kept[0]["model"], kept[0]["columns"], kept[0]["correlation_id"]) == ("net", ["p"], "req-1")


def test_as_many_values_as_features_are_one_row(kept: list[dict[str, Any]]) -> None:
    inputs = ModelDataCollector("net", "inputs", feature_names=["a", "b"])
    for data in ([1, 2], Array([1, 2]), [[1], [2]], [1, 2, 3]):
        inputs.collect(data)
    assert [each["rows"] for each in kept] == [[[1, 2]], [[1, 2]], [[1], [2]], [[1], [2], [3]]]


class Assignable(Frame):
    """As pandas' frames, as far as correlations go."""

    def assign(self, **more: Any) -> "Frame":
        made = Frame()
        made.columns = (*self.columns, *more)  # type: ignore[assignment]
        made.values = Array([[*row, *more.values()] for row in self.values.tolist()])
        return made


@pytest.mark.parametrize("names", [None, ["p", "q"]])
@pytest.mark.parametrize("data", [[[1, 2], [3, 4]], Array([[1, 2], [3, 4]]), Assignable()])
def test_rows_of_one_request_are_brought_together(data: object, names: object, kept: list[dict[str, Any]]) -> None:
    predictions = ModelDataCollector("net", "predictions", feature_names=names)
    for own in ("req-1", ""):
        correlations = ModelDataCollector("net", "inputs").collect([[1]], user_correlation_id=own)
        predictions.collect(predictions.add_correlations(data, correlations))
    first, second, third, fourth = (each["correlation_id"] for each in kept)
    assert first == second == "req-1" and third == fourth != ""
    assert kept[1]["rows"][1][2] == "req-1" and len(kept[1]["rows"][1]) == 2 + len(correlations)
    if names:
        assert kept[1]["columns"] == ["p", "q", *correlations]
    assert predictions.add_correlations(data, None) is data


def test_many_rows_are_counted_and_the_first_are_kept(kept: list[dict[str, Any]]) -> None:
    ModelDataCollector("net", "inputs").collect([["x" * 1000]] * 1000)
    assert 50 < len(kept[0]["rows"]) < 70 and kept[0]["row_count"] == 1000


def test_outside_of_a_service_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ModelDataCollector("net", "inputs").collect([[1, 2]])
    said = capsys.readouterr().out
    assert said.startswith("Collected of net, inputs (not kept): ") and "[[1, 2]]" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model_name": ""}, "model_name must be text"),
        ({"model_name": "net", "designation": 3}, "designation must be text"),
        ({"model_name": "net", "feature_names": "a,b"}, "feature_names must be a list"),
    ],
)
def test_what_cannot_be_collected_under(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserErrorException, match=words):
        ModelDataCollector(**given)
