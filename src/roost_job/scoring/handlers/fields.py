"""The inputs and outputs of a model: fields with a name, a type and a shape, and the same as OpenAPI. Python 3.6+.

In a shape, None is any length, and `...` at its beginning any number of dimensions; None instead of a shape means unknown.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

Shape = Optional[Tuple[Any, ...]]
_KINDS = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}
_MAX_EXAMPLE = 256


class Field(object):
    """One input or output. `dtype` is NumPy's name of the type, "str" for text, empty when unknown."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, dtype: str = "", shape: Shape = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape

    def __str__(self) -> str:
        return " ".join(filter(None, ["%r:" % self.name, self.dtype or "any type", said(self.shape)]))

    @property
    def kind(self) -> str:
        """The OpenAPI type of one value; empty when unknown."""
        if self.dtype in ("", "object"):
            return ""
        if self.dtype.startswith(("str", "bytes")):
            return "string"
        return _KINDS.get(self.dtype[:1], "")

    def schema(self) -> Dict[str, Any]:
        inner: Dict[str, Any] = {"type": self.kind} if self.kind else {}
        if self.dtype in ("float32", "float64", "int32", "int64"):
            inner["format"] = {"float32": "float", "float64": "double"}.get(self.dtype, self.dtype)
        if self.shape is None:
            return {"description": "%s of any shape" % (self.dtype or "values"), "type": "array", "items": {}}
        for length in reversed(self.shape):
            inner = {"type": "array", "items": inner}
            if isinstance(length, int):
                inner["minItems"] = inner["maxItems"] = length
        return inner

    def example(self) -> Any:
        """Zeros of that shape, with length 1 for any length; None when the shape is unknown or large."""
        if self.shape is None:
            return None
        size = 1
        value: Any = {"string": "", "boolean": False, "integer": 0}.get(self.kind, 0.0)
        for length in reversed(self.shape):
            count = length if isinstance(length, int) else 1
            size *= count
            if size > _MAX_EXAMPLE:
                return None
            value = [value] * count
        return value


def said(shape: Shape) -> str:
    """A shape as readable text."""
    if shape is None:
        return "of any shape"
    words = {None: "any", Ellipsis: "…"}
    return "[%s]" % ", ".join(str(words.get(length, length)) for length in shape)


def fits(shape: Sequence[int], wanted: Shape) -> bool:
    if wanted is None:
        return True
    if wanted and wanted[0] is Ellipsis:
        behind = len(wanted) - 1
        return len(shape) >= behind and fits(shape[len(shape) - behind :], wanted[1:])
    return len(shape) == len(wanted) and all(want is None or have == want for have, want in zip(shape, wanted))


def schema_of(inputs: List[Field], outputs: List[Field], first: str = "inputs") -> Dict[str, Any]:
    """The schema of the body of a POST and of its answer; `first` is the form of the example."""
    by_name: Dict[str, Any] = {"type": "object", "required": [each.name for each in inputs]}
    by_name["properties"] = {each.name: each.schema() for each in inputs}
    value = inputs[0].schema() if len(inputs) == 1 else by_name
    rows = {"type": "array", "items": {}}
    properties = {"instances": rows if len(inputs) != 1 else value, "inputs": value, "data": value}
    body: Dict[str, Any] = {
        "type": "object",
        "description": "One of these; the answer has the same form.",
        "properties": properties,
        "minProperties": 1,
    }
    examples = {each.name: each.example() for each in inputs}
    if inputs and None not in examples.values():
        body["example"] = {first: examples[inputs[0].name] if len(inputs) == 1 else examples}
    made: Dict[str, Any] = {each.name: each.schema() for each in outputs}
    result = outputs[0].schema() if len(outputs) == 1 else {"type": "object", "properties": made}
    answer = {"type": "object", "properties": {"predictions": {"type": "array", "items": {}}, "outputs": result}}
    return {"input": body, "output": answer}
