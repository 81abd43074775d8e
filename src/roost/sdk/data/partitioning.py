"""Converts a table's partition columns to folder names, and back to typed columns when it is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost_job.data.partitions import MISSING
from roost_job.libraries import need, refuse_parquet

Frame = Any
"""pandas is loaded only when used."""
_KINDS = {
    "integer": "integer",
    "floating": "float",
    "mixed-integer-float": "float",
    "boolean": "boolean",
    "datetime64": "datetime",
    "datetime": "datetime",
    "date": "datetime",
}
"""pandas' type names, and the stored column types; any other type becomes text."""


@dataclass(frozen=True)
class PartitionKey:
    name: str
    texts: Any
    """The folder's name for each row."""
    pattern: str
    """The column's part of the partition format."""
    kind: Mapping[str, Any] | None
    """Its type when it is read; None for text."""


def partition_keys_of(frame: Frame, keys: Sequence[str]) -> list[PartitionKey]:
    """Raises InvalidInput when a table cannot be partitioned by these columns."""
    there = list(map(str, frame.columns))
    if missing := [key for key in keys if key not in frame.columns]:
        raise InvalidInput(f"The table has no column {', '.join(map(repr, missing))}.", hint=f"It has: {there}.")
    if twice := [key for key in keys if keys.count(key) > 1 or set(key) & set("{}:/")]:
        raise InvalidInput(f"Column {twice[0]!r} is named twice, or has one of `{{}}:/` in its name.")
    if set(keys) == set(there):
        raise InvalidInput(f"All columns of the table are partition keys: {there}.", hint="Leave one to be written.")
    if not len(frame):
        raise InvalidInput("The table has no rows to write.")
    return [_written(frame[key], key) for key in keys]


def _written(column: Any, name: str) -> PartitionKey:
    """The folder names of one column. A missing value gets a special name, as in Hive and Spark."""
    pandas = need("pandas")
    if hasattr(column, "cat"):
        column = column.astype(column.cat.categories.dtype)
    kind = _KINDS.get(pandas.api.types.infer_dtype(column, skipna=True))
    there, pattern = column.dropna(), f"{{{name}}}"
    if kind == "datetime":
        texts, form = _times(pandas.to_datetime(there, utc=True))
        if form and len(there) == len(
            column
        ):  # else the text is parsed as a time, because a format cannot match a missing value
            pattern = f"{{{name}:{form}}}"
    else:
        texts = there.map(str)
    for text in texts.unique():
        if "/" in text or text == MISSING or names.problem(text):
            raise InvalidInput(
                f"The value {text!r} of column {name!r} cannot be a folder's name.", hint="Partition by another column."
            )
    return PartitionKey(
        name, texts.reindex(column.index, fill_value=MISSING), pattern, {"type": kind} if kind else None
    )


def write_parquet(frame: Frame, path: Path) -> None:
    """Raises InvalidInput when its columns cannot be written."""
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        refuse_parquet("written")
    except (ValueError, TypeError, NotImplementedError) as error:  # pyarrow's errors are subclasses of these
        raise InvalidInput(
            f"The frame cannot be written as Parquet: {' '.join(str(error).split())}.",
            hint="Give each column a name, and values of one type: frame['a'] = frame['a'].astype(str).",
        ) from None


def _times(times: Any) -> tuple[Any, str]:
    """UTC times as sortable texts, as short as possible without loss, and the matching partition format."""
    texts = times.dt.tz_localize(None).map(lambda each: each.isoformat(timespec="nanoseconds"))
    if (times == times.dt.normalize()).all():
        return texts.str[:10], "yyyy-MM-dd"
    if (times == times.dt.floor("s")).all():
        return texts.str[:19], "yyyy-MM-ddTHH:mm:ss"
    return texts, ""


def typed(value: object, kind: Mapping[str, Any] | None) -> object:
    """A value from a path, converted to its column's type; None when it does not fit."""
    if kind is None or not isinstance(value, str):
        return value
    try:
        return _READ[kind["type"]](value) if not kind.get("formats") else value
    except (ValueError, KeyError):
        return None


_READ: Mapping[str, Callable[[str], object]] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": lambda text: {"true": True, "false": False}[text.lower()],
    "datetime": datetime.fromisoformat,
}
