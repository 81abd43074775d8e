"""Columns of texts as columns of times: of UTC, and what is no time is empty. Which of those are times all the same, of years
that pandas cannot hold, `beyond` tells.
"""

import datetime
import re
import warnings
from typing import Any, Iterator, Sequence

from roost_job.libraries import need

ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$")


def of(column: Any) -> Any:
    """Times of whatever form. Those of ISO 8601 may each be written in their own way."""
    if str(column.dtype).startswith("datetime64[") and "," not in str(column.dtype):
        return column
    pandas = need("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas says how it reads texts that are no times
        found = iso(column)
        others = column[column.notnull() & found.isnull()]
        others = others[[not ISO.match(str(each)) for each in others]]
        if len(others):
            found = _filled(found, pandas.to_datetime(others, errors="coerce", utc=True).dt.tz_convert(None))
    return found


def iso(column: Any) -> Any:
    """Times of ISO 8601. Newer ones of pandas take the form of the first value for that of all, unless told that each may have
    its own."""
    pandas = need("pandas")
    each = int(pandas.__version__.partition(".")[0]) >= 2 and str(column.dtype) in ("object", "str", "string")
    more = {"format": "ISO8601"} if each else {}
    return pandas.to_datetime(column, errors="coerce", utc=True, **more).dt.tz_convert(None)


def written(column: Any, formats: Sequence[str]) -> Any:
    """Times of one of these forms, the first that fits."""
    pandas, found = need("pandas"), None
    for form in formats:
        some = pandas.to_datetime(column, format=form, errors="coerce", utc=True).dt.tz_convert(None)
        found = some if found is None else _filled(found, some)
    return found


def beyond(texts: Any, formats: Sequence[str] = ()) -> Iterator[bool]:
    """Of texts that pandas took for no times, whether they are, of a year that it may be unable to hold: 1678 to 2261 it can.
    Without formats it is those of ISO 8601."""
    for text in map(str, texts):
        day = text[:10] if ISO.match(text) else ""
        yield any(_is_time(text, form) for form in formats) if formats else _is_time(day, "%Y-%m-%d")


def _is_time(text: str, form: str) -> bool:
    try:
        return not 1678 <= datetime.datetime.strptime(text, form).year <= 2261
    except ValueError:
        return False


def _filled(found: Any, some: Any) -> Any:
    """One after the other, in the finer unit of the two; of nanoseconds there are too few for some years, which are empty."""
    pandas = need("pandas")
    both = [found.dropna(), some[found.isnull().reindex(some.index)].dropna()]
    if any(str(each.dtype) == "datetime64[ns]" for each in both):
        both = [each[each.between(pandas.Timestamp.min, pandas.Timestamp.max)] for each in both]
    return pandas.concat(both).reindex(found.index)
