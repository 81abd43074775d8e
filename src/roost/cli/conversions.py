"""Values of parameters, converted when they have to be. Typer converts each with pydantic, which takes longer to load than the
rest of the parser; most values are what the command takes already: texts, defaults, and what was not given.
"""

from collections.abc import Callable
from typing import Any, get_args, get_origin


def convert_when_needed(params: list[Any]) -> list[Any]:
    """These parameters of Typer, which from now on keep values that have their type. Those of a Typer that converts in another
    way stay as they are."""
    for param in params:
        if hasattr(param, "get_runtime_param") and "get_runtime_param" not in vars(param):
            param.get_runtime_param = _Converter(param.type_descriptor.annotation, param.get_runtime_param).itself
    return params


class _Converter:
    """Stands in for Typer's own converter of one parameter, and makes that one for the first value that needs it."""

    def __init__(self, annotation: Any, make: Callable[[], Any]) -> None:
        self._annotation = annotation
        self._make = make

    def itself(self) -> "_Converter":
        return self

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if _has_type(value, self._annotation):
            return value
        return self._make().coerce(value, param=param, ctx=ctx)


def _has_type(value: Any, annotation: Any) -> bool:
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        return isinstance(value, list | tuple) and all(_has_type(each, item) for each in value)
    return type(value) is annotation
