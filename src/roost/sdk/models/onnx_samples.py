"""The sample input of an export: arrays, tensors, frames, nested lists, several by name or in order; on the command line
JSON, a file, or a type and a shape. This module converts it to plain values; the job reads them as arrays.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import InvalidModel

_SHAPE = re.compile(r"(?:(?P<name>[A-Za-z_][\w.]*)=)?(?P<dtype>[a-z]+\d*)?\[(?P<shape>\d+(?:\s*,\s*\d+)*)\]")
_TYPES = re.compile(r"(torch\.)?(?P<name>(float|int|uint)\d+|bool|object|str)")
_MOST = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample for the job."""

    inputs: list[dict[str, Any]]
    table: bool = False
    """True when the inputs are the columns of a table."""


def described(sample: object) -> Sample:
    """Raises InvalidModel for an invalid input."""
    if isinstance(sample, Sample):
        return sample
    if hasattr(sample, "columns") and hasattr(sample, "to_dict"):
        columns = [_one(str(name), sample[name]) for name in sample.columns]  # type: ignore[index]
        return Sample(inputs=columns, table=True)
    if isinstance(sample, Mapping):
        return Sample(inputs=[_one(str(name), each) for name, each in sample.items()])
    if isinstance(sample, tuple):
        return Sample(inputs=[_one("", each) for each in sample])
    if isinstance(sample, list) and sample and all(isinstance(row, Mapping) for row in sample):
        names = list(sample[0])
        if any(set(row) != set(names) for row in sample):
            raise InvalidModel("The rows of sample_input have not all the same columns.")
        return Sample(inputs=[_one(str(name), [row[name] for row in sample]) for name in names], table=True)
    return Sample(inputs=[_one("", sample)])


def _one(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping) and "shape" in value:
        return {"name": name, **value}
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    dtype = ""
    if hasattr(value, "dtype"):
        found = _TYPES.fullmatch(str(value.dtype))
        dtype = found["name"] if found else "object"
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, list | int | float):
        raise InvalidModel(
            f"sample_input must be numbers: an array, a tensor, a frame or nested lists; got {type(value).__name__}.",
            hint="model.to_onnx(sample_input=[[5.1, 3.5, 1.4, 0.2]])",
        )
    return {"name": name, "dtype": dtype, "values": plain}


def from_text(text: str) -> Sample:
    """Parses the command line's value: `float32[1,3,224,224]` or `x=[1,4]` (a shape, filled with numbers), JSON, or a file
    with JSON."""
    shapes = [_SHAPE.fullmatch(part.strip()) for part in text.split(";")]
    if "." not in text and all(shapes) and not _is_json(text):
        inputs = [_shaped(found) for found in shapes if found is not None]
        return Sample(inputs=inputs)
    path = Path(text.removeprefix("@"))
    if text.startswith("@") or path.suffix == ".json":
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InvalidModel(f"The sample input {str(path)!r} cannot be read: {error.strerror}.") from None
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidModel(
            f"The sample input is no JSON, no file *.json and no shape: {text[:80]!r} ({error}).",
            hint="--input '[[5.1, 3.5, 1.4, 0.2]]', --input @sample.json or --input 'float32[1,3,224,224]'",
        ) from None
    if isinstance(given, dict) and len(given) == 1 and next(iter(given)) in ("data", "inputs", "instances"):
        given = next(iter(given.values()))
    return described(given)


def _is_json(text: str) -> bool:
    """`[1,4]` alone is a list of numbers; with a name or a type before it, it is a shape."""
    return text.lstrip().startswith("[")


def _shaped(found: "re.Match[str]") -> dict[str, Any]:
    shape = [int(each) for each in found["shape"].split(",")]
    size = 1
    for each in shape:
        size *= each
    if not 0 < size <= _MOST:
        raise InvalidModel(f"A sample of the shape {shape} has {size} numbers; 1 to {_MOST} are allowed.")
    return {"name": found["name"] or "", "dtype": found["dtype"] or "float32", "shape": shape}
