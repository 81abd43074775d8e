"""The sample input of an export: written as JSON at the submission, read here as arrays. Python 3.6+ and NumPy.

{"inputs": [{"name": "x" or "", "dtype": "float32" or "", "values": […]} or {…, "shape": [1, 3, 224, 224]}], "table": false}

With a shape alone the values are drawn from a normal distribution, the same each time; with a table each input is a column.
"""

import json
from typing import Any, Dict, List

import numpy

from roost_job.exporting import Refused


class Sample(object):
    def __init__(self, names: List[str], arrays: List[Any], table: bool, typed: List[bool]) -> None:
        self.names = names
        self.arrays = arrays
        self.table = table
        self.typed = typed
        """True for each input that was given with a type; the others get a type that the model accepts."""


def read(path: str) -> Sample:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    names, arrays, typed = [], [], []
    for each in data["inputs"]:
        names.append(str(each.get("name") or ""))
        arrays.append(_array(each))
        typed.append(bool(each.get("dtype")))
    return Sample(names, arrays, bool(data.get("table")), typed)


def _array(given: Dict[str, Any]) -> Any:
    dtype = given.get("dtype") or None
    try:
        if "shape" in given:
            drawn = numpy.random.RandomState(7).standard_normal(given["shape"])
            whole = dtype is not None and numpy.dtype(dtype).kind in "iub"
            return (numpy.abs(drawn) < 1).astype(dtype) if whole else drawn.astype(dtype or "float32")
        array = numpy.array(given["values"], dtype="object" if dtype in ("object", "str") else dtype)
    except (ValueError, TypeError) as error:
        raise Refused("The sample input cannot be read as an array: %s." % error)
    if array.dtype.kind == "O" and dtype not in ("object", "str"):
        raise Refused("The sample input cannot be read as an array: its rows differ in length.")
    return array


def normal(rows: int, columns: int) -> Sample:
    """A sample for a model with a known number of columns."""
    drawn = numpy.random.RandomState(7).standard_normal((rows, columns))
    return Sample([""], [drawn], False, [False])
