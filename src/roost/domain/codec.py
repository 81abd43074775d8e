"""Converts frozen records to plain JSON values and back, by their type hints. Unknown fields are ignored."""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from roost.domain.errors import InvalidInput

T = TypeVar("T")
LARGEST = 2**63 - 1
"""The largest whole number that a database has a column for; the least is one further from zero."""


def encode(value: Any) -> Any:
    """Plain JSON values: dataclasses as objects, enums as their values, tuples as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    return value


def decode(cls: type[T], data: Any) -> T:
    """A record of class `cls` from plain JSON values; InvalidInput names the field that does not fit."""
    return typing.cast(T, _decode(cls, data, cls.__name__))


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any or kind is object:
        return data
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(kind), data, where)
    if origin is tuple:
        _expect(isinstance(data, list | tuple), "a list", data, where)
        return tuple(_decode(typing.get_args(kind)[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        _expect(isinstance(data, Mapping), "an object", data, where)
        return {str(k): _decode(typing.get_args(kind)[1], v, f"{where}.{k}") for k, v in data.items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _decode_enum(kind, data, where)
    if dataclasses.is_dataclass(kind):
        return _decode_record(typing.cast(type, kind), data, where)
    if kind is float and type(data) is int:
        return float(_bounded(data, where))
    _expect(type(data) is kind, getattr(kind, "__name__", str(kind)), data, where)
    return _bounded(data, where) if kind is int else data


def _bounded(number: int, where: str) -> int:
    if not -LARGEST - 1 <= number <= LARGEST:
        raise InvalidInput(f"{where} must be between -2^63 and 2^63 - 1, got a number of {number.bit_length()} bits.")
    return number


def _decode_union(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    real = [k for k in kinds if k is not type(None)]
    for kind in real:
        if kind is type(data):
            return _decode(kind, data, where)
    problem: InvalidInput | None = None
    for kind in real:
        try:
            return _decode(kind, data, where)
        except InvalidInput as error:
            problem = error
    raise problem or InvalidInput(f"{where} cannot be {data!r}.")


def _decode_enum(kind: type[enum.Enum], data: Any, where: str) -> enum.Enum:
    try:
        return kind(data)
    except ValueError:
        choices = ", ".join(str(member.value) for member in kind)
        raise InvalidInput(f"{where} cannot be {data!r}.", hint=f"It is one of: {choices}.") from None


def _decode_record(kind: type, data: Any, where: str) -> Any:
    _expect(isinstance(data, Mapping), "an object", data, where)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in data:
            values[field.name] = _decode(_hints(kind)[field.name], data[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InvalidInput(f"{where}.{field.name} is missing.")
    return kind(**values)


def _expect(fits: bool, wanted: str, data: Any, where: str) -> None:
    if not fits:
        raise InvalidInput(f"{where} must be {wanted}, got {type(data).__name__} {str(data)[:80]!r}.")
