"""Applies the steps of a dataset's definition (roost.domain.datasets lists them) to a pandas frame. Random choices of rows are
the same each time, and the two parts of a split have no row in common.
"""

from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from roost_job.data import times
from roost_job.exceptions import DatasetTimestampMissingError, UserErrorException
from roost_job.libraries import need
from roost_job.listing import some

Frame = Any
"""pandas belongs to the script's environment, not to this library."""
Step = Mapping[str, Any]
_ONE_ROW_AGAIN = ("keep_columns", "drop_columns", "timestamps")
_BY_POSITION = ("take", "skip", "sample", "split")


def apply(frame: Frame, steps: Sequence[Step]) -> Frame:
    """The frame after all steps, with its rows numbered again."""
    fine: Optional[str] = None
    for step in steps:
        op = step["op"]
        if op == "timestamps":
            frame, fine = _timestamps(frame, step)
        elif op.startswith("time_"):
            frame = _between(frame, fine, step)
        else:
            frame = _OPS[op](frame, step)
    return frame.reset_index(drop=True) if steps else frame


def row_limit(steps: Sequence[Step]) -> Optional[int]:
    """The number of rows from the top that the steps need; None when they need all."""
    skipped = 0
    for step in steps:
        if step["op"] == "skip":
            skipped += int(step["count"])
        elif step["op"] == "take":
            return skipped + int(step["count"])
        elif step["op"] not in _ONE_ROW_AGAIN:
            return None
    return None


def wanted_columns(steps: Sequence[Step]) -> Optional[Sequence[str]]:
    """The columns that the steps need; None when they need all."""
    for step in steps:
        if step["op"] == "keep_columns":
            return list(step["columns"])
        if step["op"] not in _BY_POSITION:
            return None
    return None


# ---- rows and columns


def _take(frame: Frame, step: Step) -> Frame:
    return frame.iloc[: int(step["count"])]


def _skip(frame: Frame, step: Step) -> Frame:
    return frame.iloc[int(step["count"]) :]


def _sample(frame: Frame, step: Step) -> Frame:
    return frame[_chances(len(frame), step["seed"]) < float(step["probability"])]


def _split(frame: Frame, step: Step) -> Frame:
    first = _chances(len(frame), step["seed"]) < float(step["percentage"])
    return frame[first if int(step["part"]) == 0 else ~first]


def _chances(count: int, seed: Any) -> Any:
    """A number from 0 to 1 for each row. This generator is frozen: it gives the same in every NumPy."""
    return need("numpy").random.RandomState(int(seed or 0) % 2**32).random_sample(count)


def _keep(frame: Frame, step: Step) -> Frame:
    """Unknown names are ignored, as in dataprep; `validate=True` of keep_columns refuses them."""
    return frame[[name for name in step["columns"] if name in frame.columns]]


def _drop(frame: Frame, step: Step) -> Frame:
    return frame.drop(columns=[name for name in step["columns"] if name in frame.columns])


def _filter(frame: Frame, step: Step) -> Frame:
    try:
        mask = _evaluate(frame, step["expression"])
    except TypeError as error:
        raise UserErrorException("The dataset cannot be filtered like this: %s." % error) from None
    if not hasattr(mask, "fillna"):
        return frame if mask else frame.iloc[:0]
    return frame[mask.fillna(False).astype(bool)]


_OPS: Dict[str, Callable[[Frame, Step], Any]] = {
    "take": _take,
    "skip": _skip,
    "sample": _sample,
    "split": _split,
    "keep_columns": _keep,
    "drop_columns": _drop,
    "filter": _filter,
}


def _require(frame: Frame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in frame.columns:
            known = some((repr(str(each)) for each in frame.columns), 20)
            raise UserErrorException("The table has no column %r." % (name,), hint="It has: %s." % known)


# ---- expressions

_COMPARISONS: Dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
}
_TEXTS = {"starts_with": "startswith", "ends_with": "endswith", "contains": "contains"}


def _evaluate(frame: Frame, plain: Mapping[str, Any]) -> Any:
    if "column" in plain:
        _require(frame, [plain["column"]])
        return frame[plain["column"]]
    if "value" in plain:
        return plain["value"]
    if "time" in plain:
        return moment(plain["time"])
    op, args = plain["op"], [_evaluate(frame, each) for each in plain["args"]]
    if op in ("and", "or"):
        args = [each.fillna(False).astype(bool) if hasattr(each, "fillna") else bool(each) for each in args]
    if op in _COMPARISONS:
        return _COMPARISONS[op](*args)
    if op == "not":
        return ~args[0].fillna(False).astype(bool) if hasattr(args[0], "fillna") else not args[0]
    if op == "in":
        return args[0].isin(list(args[1]))
    if op == "is_null":
        return args[0].isnull()
    texts = args[0].astype(object).where(args[0].notnull(), None).map(_text, na_action="ignore").astype(object)
    more = {"regex": False} if op == "contains" else {}
    return getattr(texts.str, _TEXTS[op])(str(args[1]), na=False, **more)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


# ---- times


def moment(text: str) -> Any:
    """A time as frames have it: in UTC, without a time zone."""
    return plain_time(need("pandas").Timestamp(text))


def plain_time(value: Any) -> Any:
    return value.tz_convert("UTC").tz_localize(None) if value.tzinfo is not None else value


def _timestamps(frame: Frame, step: Step) -> Any:
    named = [name for name in (step["fine"], step["coarse"]) if name]
    _require(frame, named)
    frame = frame.assign(**{name: _times_of(frame, name) for name in named})
    return frame, step["fine"] or step["coarse"]


def _times_of(frame: Frame, name: str) -> Any:
    """The column as times; numbers, and texts without any time, are refused, since filters would be wrong."""
    given = frame[name].dropna()
    if not len(given):
        return times.of(frame[name])
    kind = str(given.dtype)
    numbers = kind.lower().startswith(("int", "uint", "float", "bool", "complex"))
    found = None if numbers else times.of(frame[name])
    if found is None or not found.notnull().any():
        raise UserErrorException(
            "Column %r does not hold times; its first value is %.100r." % (name, _plain(given.iloc[0])),
            hint="Name a column of times, or read this one as such: set_column_types={%r: DataType.to_datetime(...)}."
            % (name,),
        )
    return found


def _plain(value: Any) -> Any:
    """NumPy values as Python values, which print in the usual way."""
    return value.item() if hasattr(value, "item") else value


def _between(frame: Frame, fine: Optional[str], step: Step) -> Frame:
    if fine is None:
        raise DatasetTimestampMissingError(
            "The dataset has no column of times to filter by.", hint="Call with_timestamp_columns first."
        )
    _require(frame, [fine])
    times, op, inclusive = frame[fine], step["op"], bool(step["inclusive"])
    if op == "time_after":
        return frame[_after(times, moment(step["time"]), inclusive)]
    if op == "time_before":
        return frame[_before(times, moment(step["time"]), inclusive)]
    return frame[_after(times, moment(step["start"]), inclusive) & _before(times, moment(step["end"]), inclusive)]


def _after(times: Any, start: Any, inclusive: bool) -> Any:
    return times >= start if inclusive else times > start


def _before(times: Any, end: Any, inclusive: bool) -> Any:
    return times <= end if inclusive else times < end
