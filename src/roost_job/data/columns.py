"""The types of a table's columns: the requested ones, and times in ISO 8601."""

from typing import Any, Mapping

from roost_job.data import times
from roost_job.exceptions import UserErrorException
from roost_job.libraries import need

Frame = Any
_LOOKED_AT = 200
_TRUE, _FALSE = ("true", "1", "1.0", "yes", "t", "y"), ("false", "0", "0.0", "no", "f", "n")


def convert(frame: Frame, types: Mapping[str, Any], strict: bool = False, bounded: bool = False) -> Frame:
    """The frame with those types. A value that does not fit its type becomes empty, or raises UserErrorException when `strict`.
    Times that pandas cannot hold become empty, or raise UserErrorException when `bounded`."""
    made = {}
    for name, kind in types.items():
        if name in frame.columns:
            made[name] = _converted(frame[name], kind)
            if strict or bounded:
                _refuse_lost(frame[name][frame[name].notnull() & made[name].isnull()], kind, strict, bounded)
    return frame.assign(**made) if made else frame


def _refuse_lost(lost: Any, kind: Mapping[str, Any], strict: bool, bounded: bool) -> None:
    """Raises for values that became empty: separates times out of range from values that are no times."""
    far = list(times.beyond(lost, kind.get("formats") or ())) if kind["type"] == "datetime" else [False] * len(lost)
    if bounded and any(far):
        _refuse_far(lost[far])
    wrong = lost[[not each for each in far]]
    if strict and len(wrong):
        raise UserErrorException(
            "Column %r has %d value%s that cannot be of the type %r; the first is '%.100s'."
            % (lost.name, len(wrong), "s" * (len(wrong) != 1), kind["type"], wrong.iloc[0]),
            hint="With on_error='null' they are empty.",
        )


def _refuse_far(far: Any) -> None:
    raise UserErrorException(
        "Column %r has %d time%s out of the range of this pandas; the first is '%.100s'."
        % (far.name, len(far), "s" * (len(far) != 1), far.iloc[0]),
        hint="With out_of_range_datetime='null' they are empty.",
    )


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
        return _whole(numbers) if name == "integer" else numbers.astype("float64")
    if name == "datetime":
        formats = kind.get("formats") or ()
        return times.written(column, formats) if formats else times.of(column)
    raise UserErrorException("A column cannot be of the type %r." % (name,))


def _whole(numbers: Any) -> Any:
    """64-bit integers; other numbers, and those with a fraction, become empty. Booleans become 1 and 0."""
    if str(numbers.dtype) in ("bool", "boolean"):
        numbers = numbers * 1
    # Not with `round`: older versions of pandas cannot round integers with missing values.
    fit = numbers.where((numbers % 1 == 0) & (numbers >= -(2**63)) & (numbers < 2**63))
    return fit.astype("int64") if fit.notnull().all() else fit.astype("float64")


def infer_times(frame: Frame, types: Mapping[str, Any], bounded: bool = False) -> Frame:
    """Converts text columns whose values are all ISO 8601 times to times in UTC. The first values decide; a later value that is
    no time leaves the column as text. Times that pandas cannot hold are handled as in `convert`."""
    made = {}
    for name in frame.columns:
        column = frame[name]
        if name in types or str(column.dtype) not in ("object", "str", "string"):
            continue
        some = column.dropna().head(_LOOKED_AT)
        if not len(some) or not all(isinstance(each, str) and times.ISO.match(each) for each in some):
            continue
        found = times.iso(column)
        lost = column[column.notnull() & found.isnull()]
        if all(times.beyond(lost)):
            if bounded and len(lost):
                _refuse_far(lost)
            made[name] = found
    return frame.assign(**made) if made else frame
