"""Exports to ONNX, as far as they need no framework: samples, and when two results are the same."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest

from roost_job.exporting import Refused, comparing, job, samples


def sample(folder: Path, *inputs: object, table: bool = False) -> samples.Sample:
    path = folder / "sample.json"
    path.write_text(json.dumps({"inputs": inputs, "table": table}))
    return samples.read(str(path))


def test_samples_are_read_as_arrays(tmp_path: Path) -> None:
    found = sample(
        tmp_path, {"name": "x", "dtype": "", "values": [[1, 2]]}, {"name": "", "dtype": "int32", "shape": [2, 3]}
    )
    assert found.names == ["x", ""]
    assert found.typed == [False, True]
    assert [(each.shape, str(each.dtype)) for each in found.arrays] == [((1, 2), "int64"), ((2, 3), "int32")]
    again = sample(tmp_path, {"name": "", "dtype": "float32", "shape": [4]}).arrays[0]
    assert (again == sample(tmp_path, {"name": "", "dtype": "float32", "shape": [4]}).arrays[0]).all()


def test_a_sample_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        sample(tmp_path, {"name": "", "dtype": "", "values": [[1, 2], [1]]})
    with pytest.raises(Refused):
        sample(tmp_path, {"name": "", "dtype": "float32", "values": [["a"]]})


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0], [1.000001], True),
        ([1.0], [1.001], False),
        ([1e6], [1e6 + 1], True),
        ([float("nan"), float("inf")], [float("nan"), float("inf")], True),
        ([1.0], [float("nan")], False),
        ([1.0, 2.0], [[1.0], [2.0]], True),
        ([1.0], [1.0, 2.0], False),
        (["a", "b"], ["a", "b"], True),
        (["a"], ["b"], False),
        ([True], [1], True),
    ],
)
def test_when_numbers_are_the_same(expected: object, got: object, same: bool) -> None:
    apart = comparing.difference(numpy.array(expected), numpy.array(got))
    assert (apart <= comparing.TOLERANCE) is same


def test_what_is_missing_is_another_result() -> None:
    assert comparing.largest([numpy.ones(1), numpy.ones(1)], [numpy.ones(1)]) == float("inf")
    assert comparing.largest([numpy.ones(1)], [numpy.ones(1), numpy.zeros(1)]) == 0.0


def test_operator_sets_are_named_by_domain_each_once() -> None:
    imported = [
        SimpleNamespace(domain=name, version=number) for name, number in (("ai.onnx.ml", 1), ("", 12), ("", 12))
    ]
    onnx = SimpleNamespace(load=lambda *_, **__: SimpleNamespace(opset_import=imported))
    assert job._opset(onnx, "model.onnx") == "ai.onnx 12, ai.onnx.ml 1"
