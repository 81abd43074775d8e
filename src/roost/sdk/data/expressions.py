"""Filter expressions: `dataset['price'] > 10`, `files.file_metadata['Size'] < 1000`, joined with `&`, `|` and `~`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from roost.domain.errors import InvalidInput


class Expression:
    """A column, a comparison, or a combination. It is stored with the dataset and evaluated when the dataset is read."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self._plain = plain

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]
        return self._with("eq", other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]
        return self._with("ne", other)

    def __lt__(self, other: object) -> "Expression":
        return self._with("lt", other)

    def __le__(self, other: object) -> "Expression":
        return self._with("le", other)

    def __gt__(self, other: object) -> "Expression":
        return self._with("gt", other)

    def __ge__(self, other: object) -> "Expression":
        return self._with("ge", other)

    def __and__(self, other: object) -> "Expression":
        return self._with("and", other)

    def __or__(self, other: object) -> "Expression":
        return self._with("or", other)

    def __invert__(self) -> "Expression":
        return Expression({"op": "not", "args": [self._plain]})

    def starts_with(self, value: str) -> "Expression":
        return self._with("starts_with", value)

    def ends_with(self, value: str) -> "Expression":
        return self._with("ends_with", value)

    def contains(self, value: str) -> "Expression":
        return self._with("contains", value)

    startswith, endswith = starts_with, ends_with

    def isin(self, values: Sequence[object]) -> "Expression":
        return self._with("in", list(values))

    def is_null(self) -> "Expression":
        return Expression({"op": "is_null", "args": [self._plain]})

    def _with(self, op: str, other: object) -> "Expression":
        return Expression({"op": op, "args": [self._plain, _plain(other)]})

    def __bool__(self) -> NoReturn:
        raise InvalidInput(
            "An expression of a dataset is neither true nor false before the data is read.",
            hint="Join expressions with & and |, each in parentheses, and turn one round with ~.",
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Expression({dict(self._plain)!r})"


class Columns:
    """`[name]` returns that column."""

    def __getitem__(self, name: str) -> Expression:
        return column(name)

    __call__ = __getitem__


def column(name: object) -> Expression:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"A column is named by text, got {name!r}.")
    return Expression({"column": name})


def written(expression: object) -> dict[str, Any]:
    """The stored form."""
    if not isinstance(expression, Expression):
        raise InvalidInput(
            f"A dataset is filtered by an expression of its columns, got {type(expression).__name__}.",
            hint="dataset['price'] > 10, or files.file_metadata['Size'] < 1000",
        )
    return dict(expression._plain)


def time(value: object, name: str) -> str:
    """The stored form of a time."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, got {type(value).__name__} {value!r}.")
    return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()


def _plain(value: object) -> Mapping[str, Any]:
    if isinstance(value, Expression):
        return value._plain
    if isinstance(value, datetime):
        return {"time": time(value, "The time")}
    item = getattr(value, "item", None)
    if callable(item):  # for NumPy's numbers
        value = item()
    if isinstance(value, list) and all(isinstance(each, str | int | float | bool) for each in value):
        return {"value": value}
    if value is None or isinstance(value, str | int | float | bool):
        return {"value": value}
    raise InvalidInput(f"A dataset cannot be filtered by a {type(value).__name__}: {str(value)[:80]!r}.")
