"""The types of a table's columns: those that were asked for, and times that are written as such."""

import re
from typing import Any, Mapping

from roost_job import steps
from roost_job.exceptions import UserErrorException
from roost_job.libraries import need

Frame = Any
_LOOKED_AT = 200
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$")
_TRUE, _FALSE = ("true", "1", "yes", "t", "y"), ("false", "0", "no", "f", "n")


def convert(frame: Frame, types: Mapping[str, Any], strict: bool = False) -> Frame:
    """The frame with those types; what does not fit a type is empty, or when `strict` a UserErrorException."""
    made = {}
    for name, kind in types.items():
        if name in frame.columns:
            made[name] = _converted(frame[name], kind)
            lost: Any = frame[name][frame[name].notnull() & made[name].isnull()] if strict else ()
            if len(lost):
                raise UserErrorException(
                    "Column %r has %d value%s that cannot be of the type %r; the first is '%.100s'."
                    % (name, len(lost), "s" * (len(lost) != 1), kind["type"], lost.iloc[0]),
                    hint="With on_error='null' they are empty.",
                )
    return frame.assign(**made) if made else frame


def _converted(column: Any, kind: Mapping[str, Any]) -> Any:
    pandas = need("pandas")

    name = kind["type"]
    if name == "string":
        return column.where(column.isnull(), column.astype(str)).astype(object)
    if name == "boolean":
        texts = column.map(lambda value: str(value).strip().lower())
        known = texts.map(lambda text: True if text in _TRUE else False if text in _FALSE else None)
        return known.astype(bool) if known.notnull().all() else known
    if name in ("integer", "float"):
        numbers = pandas.to_numeric(column, errors="coerce")
        whole = name == "integer" and numbers.notnull().all()
        return numbers.astype("int64") if whole else numbers.astype("float64")
    if name == "datetime":
        return _times(pandas, column, kind.get("formats") or ())
    raise UserErrorException("A column cannot be of the type %r." % (name,))


def _times(pandas: Any, column: Any, formats: Any) -> Any:
    if not formats:
        return steps.as_times(column)
    found = None
    for form in formats:
        some = pandas.to_datetime(column, format=form, errors="coerce", utc=True)
        found = some if found is None else found.fillna(some)
    return found.dt.tz_convert(None)  # type: ignore[union-attr]


def infer_times(frame: Frame, types: Mapping[str, Any]) -> Frame:
    """Columns of text whose values are all written as times (ISO 8601) become times of UTC; the first values are looked at, and
    one further down that is none leaves the column a text."""
    made = {}
    for name in frame.columns:
        column = frame[name]
        if name in types or str(column.dtype) not in ("object", "str", "string"):
            continue
        some = column.dropna().head(_LOOKED_AT)
        if not len(some) or not all(isinstance(each, str) and _TIME.match(each) for each in some):
            continue
        times = _iso(column)
        if times.notnull().sum() == column.notnull().sum():
            made[name] = times
    return frame.assign(**made) if made else frame


def _iso(column: Any) -> Any:
    pandas = need("pandas")

    # Newer ones take the form of the first value for that of all, unless told that each may be written in its own way.
    more = {"format": "ISO8601"} if int(pandas.__version__.partition(".")[0]) >= 2 else {}
    return pandas.to_datetime(column, errors="coerce", utc=True, **more).dt.tz_convert(None)
