"""Compares ONNX Runtime with the original model: the same numbers for the same input. Python 3.6+, NumPy, ONNX Runtime."""

import importlib
from typing import Any, Dict, List

import numpy

TOLERANCE = 1e-5
"""The allowed difference of each number: absolute, and relative."""


def scored(path: str, arrays: List[Any]) -> List[Any]:
    """ONNX Runtime's results for the inputs in their order, each with its declared type."""
    session = session_of(path)
    feeds: Dict[str, Any] = {}
    for declared, array in zip(session.get_inputs(), arrays):
        kind = declared.type[len("tensor(") : -1]
        kind = {"float": "float32", "double": "float64", "string": "object"}.get(kind, kind)
        feeds[declared.name] = array.astype(kind) if str(array.dtype) != kind else array
        if len(declared.shape or ()) == 2 and feeds[declared.name].ndim == 1:  # a column of a table
            feeds[declared.name] = feeds[declared.name].reshape(-1, 1)
    return list(session.run(None, feeds))


def session_of(path: str) -> Any:
    runtime: Any = importlib.import_module("onnxruntime")
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


def difference(expected: Any, got: Any) -> float:
    """The largest difference between two arrays, in units of TOLERANCE; infinite for different shapes or labels."""
    expected, got = numpy.asarray(expected), numpy.asarray(got)
    if expected.shape != got.shape:
        if expected.size != got.size:
            return float("inf")
        got = got.reshape(expected.shape)
    if expected.dtype.kind not in "fiub" or got.dtype.kind not in "fiub":
        return 0.0 if [str(each) for each in expected.ravel()] == [str(each) for each in got.ravel()] else float("inf")
    one, other = expected.astype("float64"), got.astype("float64")
    same = (one == other) | (numpy.isnan(one) & numpy.isnan(other))
    with numpy.errstate(invalid="ignore"):
        apart = numpy.abs(one - other) / (1.0 + numpy.abs(one))
    apart = numpy.where(same, 0.0, apart)
    largest = float(apart.max()) if apart.size else 0.0
    return largest if largest == largest else float("inf")


def largest(expected: List[Any], got: List[Any]) -> float:
    if len(expected) > len(got):
        return float("inf")
    return max([difference(one, other) for one, other in zip(expected, got)] or [0.0])
