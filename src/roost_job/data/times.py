"""Converts columns of texts to times in UTC; a value that is no time becomes empty. `beyond` finds the times among those, of
years that pandas cannot hold.
"""

import datetime
import re
import warnings
from typing import Any, Iterator, Sequence

from roost_job.libraries import need

ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$")


def of(column: Any) -> Any:
    """Times of any form. ISO 8601 times may differ in form from each other."""
    if str(column.dtype).startswith("datetime64[") and "," not in str(column.dtype):
        return column
    pandas = need("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas warns about texts that are no times
        found = iso(column)
        others = column[column.notnull() & found.isnull()]
        others = others[[not ISO.match(str(each)) for each in others]]
        if len(others):
            found = _filled(found, pandas.to_datetime(others, errors="coerce", utc=True).dt.tz_convert(None))
    return found


def iso(column: Any) -> Any:
    """Times in ISO 8601. Newer versions of pandas apply the form of the first value to all, unless this is switched off."""
    pandas = need("pandas")
    each = int(pandas.__version__.partition(".")[0]) >= 2 and str(column.dtype) in ("object", "str", "string")
    more = {"format": "ISO8601"} if each else {}
    return pandas.to_datetime(column, errors="coerce", utc=True, **more).dt.tz_convert(None)


def written(column: Any, formats: Sequence[str]) -> Any:
    """Times in one of these formats, the first that fits."""
    pandas, found = need("pandas"), None
    for form in formats:
        some = pandas.to_datetime(column, format=form, errors="coerce", utc=True).dt.tz_convert(None)
        found = some if found is None else _filled(found, some)
    return found


def beyond(texts: Any, formats: Sequence[str] = ()) -> Iterator[bool]:
    """For texts that pandas did not read as times: True for a time outside the years 1678 to 2261, which pandas may be unable to
    hold. Without formats, ISO 8601 is tried."""
    for text in map(str, texts):
        day = text[:10] if ISO.match(text) else ""
        yield any(_is_time(text, form) for form in formats) if formats else _is_time(day, "%Y-%m-%d")


def _is_time(text: str, form: str) -> bool:
    try:
        return not 1678 <= datetime.datetime.strptime(text, form).year <= 2261
    except ValueError:
        return False


def _filled(found: Any, some: Any) -> Any:
    """The first values, with gaps filled from the second, in the finer unit of the two; nanoseconds cannot hold some years, which
    become empty."""
    pandas = need("pandas")
    both = [found.dropna(), some[found.isnull().reindex(some.index)].dropna()]
    if any(str(each.dtype) == "datetime64[ns]" for each in both):
        both = [each[each.between(pandas.Timestamp.min, pandas.Timestamp.max)] for each in both]
    return pandas.concat(both).reindex(found.index)
