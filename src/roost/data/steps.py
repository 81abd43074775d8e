"""The steps of a file dataset: they select files by count, at random, or by their properties. Pure.

Randomness depends only on the step's seed: on every machine, the two parts of a split together are the whole.
"""

import datetime
import operator
import posixpath
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from roost.domain.datasets import DatasetKind, Definition, words
from roost.domain.datastores import Item
from roost.domain.errors import InvalidInput
from roost_job.data import partitions

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "in": lambda value, many: value in many,
    "starts_with": lambda value, text: str(value).startswith(str(text)),
    "ends_with": lambda value, text: str(value).endswith(str(text)),
    "contains": lambda value, text: str(text) in str(value),
}


def apply(items: Sequence[Item], definition: Definition) -> list[Item]:
    """The files that remain. A tabular dataset keeps all: its steps apply to rows."""
    if definition.kind is not DatasetKind.FILE:
        return list(items)
    columns = _columns(definition.partition_format)
    left = list(items)
    for step in definition.steps:
        left = _applied(left, step, columns)
    return left


def whole(item: Item) -> str:
    """The file's full path, against which a partition format is matched."""
    return item.source or item.url.partition("?")[0] or item.path


def _applied(items: list[Item], step: Mapping[str, Any], columns: Callable[[Item], Mapping[str, Any]]) -> list[Item]:
    op = step["op"]
    if op == "take":
        return items[: int(step["count"])]
    if op == "skip":
        return items[int(step["count"]) :]
    if op == "split":
        first = _chosen(len(items), float(step["percentage"]), step["seed"])
        return [item for place, item in enumerate(items) if (place in first) == (step["part"] == 0)]
    if op == "filter":
        return [item for item in items if _value(step["expression"], columns(item)) is True]
    raise InvalidInput(f"The step {op!r} is not one of a dataset of files.")


def _chosen(count: int, percentage: float, seed: object) -> set[int]:
    order = list(range(count))
    random.Random(str(seed)).shuffle(order)  # noqa: S311  not used for security
    return set(order[: round(count * percentage)])


def _columns(partition_format: str) -> Callable[[Item], Mapping[str, Any]]:
    read = partitions.reader(partition_format) if partition_format else lambda _: {}

    def columns(item: Item) -> Mapping[str, Any]:
        changed = None if item.modified_at is None else _naive(item.modified_at)
        return {
            "Size": item.size,
            "LastModifiedTime": changed,
            "CreationTime": changed,
            "Extension": posixpath.splitext(item.name)[1],
            "CanSeek": True,
            **(read(whole(item)) or {}),
        }

    return columns


def _value(expression: Mapping[str, Any], columns: Mapping[str, Any]) -> Any:
    """The value of an expression for one file. A comparison with an unknown value is false."""
    if "column" in expression:
        if expression["column"] not in columns:
            known = ", ".join(sorted(columns))
            raise InvalidInput(f"Files have no {expression['column']!r} to filter by.", hint=f"They have: {known}.")
        return columns[expression["column"]]
    if "value" in expression:
        return expression["value"]
    if "time" in expression:
        return _time(expression["time"])
    op, args = expression["op"], [_value(each, columns) for each in expression["args"]]
    if op == "and":
        return all(each is True for each in args)
    if op == "or":
        return any(each is True for each in args)
    if op == "not":
        return args[0] is not True
    if op == "is_null":
        return args[0] is None
    try:
        return args[0] is not None and bool(_COMPARE[op](args[0], args[1]))
    except TypeError:
        raise InvalidInput(
            f"Files cannot be filtered by `{words(expression)}`: {args[0]!r} and {args[1]!r} cannot be compared.",
            hint="Compare with a value of the same type: a number, a text, a time.",
        ) from None


def _time(text: str) -> datetime.datetime:
    time = datetime.datetime.fromisoformat(text)
    return time.astimezone(datetime.UTC).replace(tzinfo=None) if time.tzinfo else time


def _naive(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(tzinfo=None)
