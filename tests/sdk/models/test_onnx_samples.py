"""Sample inputs as people give them, in Python and on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from roost.domain.errors import InvalidModel
from roost.sdk.models.onnx_samples import Sample, described, from_text


@pytest.mark.parametrize(
    ("given", "inputs", "table"),
    [
        ([[1.0, 2]], [("", "", [[1.0, 2]])], False),
        (numpy.ones((1, 2), "float32"), [("", "float32", [[1.0, 1.0]])], False),
        ({"x": [1], "y": numpy.array([2])}, [("x", "", [1]), ("y", "int64", [2])], False),
        (([1], [2]), [("", "", [1]), ("", "", [2])], False),
        ([{"a": 1, "b": "u"}, {"a": 2, "b": "v"}], [("a", "", [1, 2]), ("b", "", ["u", "v"])], True),
        (pandas.DataFrame({"a": [1.5]}), [("a", "float64", [1.5])], True),
    ],
)
def test_forms(given: object, inputs: list[tuple[str, str, Any]], table: bool) -> None:
    found = described(given)
    assert [(each["name"], each["dtype"], each["values"]) for each in found.inputs] == inputs
    assert found.table is table
    assert described(found) is found
    json.dumps(found.inputs)


@pytest.mark.parametrize("wrong", ["text", object(), [{"a": 1}, {"b": 1}]])
def test_what_is_no_input_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidModel):
        described(wrong)


def test_the_command_line(tmp_path: Path) -> None:
    assert from_text("float32[1,3,8,8]").inputs == [{"name": "", "dtype": "float32", "shape": [1, 3, 8, 8]}]
    assert [each["name"] for each in from_text("ids=int64[1,5]; x=[2]").inputs] == ["ids", "x"]
    assert from_text("[[1, 2]]") == described([[1, 2]])
    assert from_text('{"data": [[1, 2]]}') == described([[1, 2]])
    (tmp_path / "sample.json").write_text("[[3]]")
    assert from_text(f"@{tmp_path}/sample.json") == from_text(f"{tmp_path}/sample.json") == described([[3]])


@pytest.mark.parametrize("wrong", ["foo", "@nowhere.json", "float32[0]", "float32[99999,99999]", "[1,"])
def test_what_the_command_line_cannot_mean(wrong: str) -> None:
    with pytest.raises(InvalidModel):
        from_text(wrong)


def test_a_sample_has_inputs() -> None:
    assert Sample(inputs=[]).table is False
