"""The partition format of a dataset: `{region}/{day:yyyy/MM/dd}/data.csv` reads columns from the paths of its files.

It matches the end of a path: from its first column to the last character. `*` is anything within one part.
"""

import datetime
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from roost_job.exceptions import UserErrorException

_NAMED = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_TIMES = (("yyyy", "year", r"\d{4}"), ("MM", "month", r"\d\d"), ("dd", "day", r"\d\d")) + (
    ("HH", "hour", r"\d\d"),
    ("mm", "minute", r"\d\d"),
    ("ss", "second", r"\d\d"),
)
_TIME = re.compile("|".join(word for word, _, _ in _TIMES))
_PARTS = {word: (name, pattern) for word, name, pattern in _TIMES}

Columns = Dict[str, Any]
MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value in a column, as Hive and Spark write it."""


def names(partition_format: str) -> List[str]:
    """The columns that a format names, each once."""
    found: List[str] = []
    for name, _ in _NAMED.findall(partition_format):
        if name not in found:
            found.append(name)
    return found


def reader(partition_format: str) -> Callable[[str], Optional[Columns]]:
    """Returns a function from a path to its values, or None for a path of another form. UserErrorException for an invalid
    format."""
    pattern, keys = _compiled(partition_format)

    def read(path: str) -> Optional[Columns]:
        found = pattern.search(path)
        return None if found is None else _values(keys, found.groups())

    return read


def _compiled(text: str) -> Tuple[Any, List[Tuple[str, str]]]:
    pieces: List[str] = []
    keys: List[Tuple[str, str]] = []
    end = 0
    plain = text.lstrip("/")
    for match in _NAMED.finditer(plain):
        pieces.append(_literal(plain[end : match.start()]))
        name, form = match.group(1), match.group(2)
        if form is None:
            pieces.append("([^/]+?)")
            keys.append((name, ""))
        else:
            pieces.append(_time(text, name, form, keys))
        end = match.end()
    if not keys:
        raise UserErrorException(
            "The partition format %r names no column." % text, hint="'{region}/{day:yyyy/MM/dd}/data.csv'"
        )
    pieces.append(_literal(plain[end:]))
    if "{" in "".join(_NAMED.split(plain)[::3]):
        raise UserErrorException("The partition format %r has a brace that is not closed." % text)
    return re.compile("(?:^|/)%s$" % "".join(pieces)), keys


def _literal(text: str) -> str:
    return "[^/]*".join(re.escape(each) for each in text.split("*"))


def _time(text: str, name: str, form: str, keys: List[Tuple[str, str]]) -> str:
    """The pattern of a date; each of its parts has its own key."""
    pattern, end = "", 0
    for match in _TIME.finditer(form):
        part, digits = _PARTS[match.group()]
        pattern += re.escape(form[end : match.start()]) + "(%s)" % digits
        keys.append((name, part))
        end = match.end()
    if "year" not in [part for known, part in keys if known == name]:
        raise UserErrorException(
            "The partition format %r has no year in %r." % (text, "{%s:%s}" % (name, form)),
            hint="A date is written with yyyy, MM, dd, HH, mm and ss.",
        )
    return pattern + re.escape(form[end:])


def _values(keys: List[Tuple[str, str]], groups: Tuple[str, ...]) -> Optional[Columns]:
    found: Columns = {}
    times: Dict[str, Dict[str, int]] = {}
    for (name, part), value in zip(keys, groups):
        if part:
            times.setdefault(name, {"month": 1, "day": 1})[part] = int(value)
            continue
        given = None if value == MISSING else value
        if found.setdefault(name, given) != given:
            return None  # a name in two places must have one value
    for name, parts in times.items():
        try:
            found[name] = datetime.datetime(**parts)  # type: ignore[arg-type]
        except ValueError:
            return None
    return {name: found[name] for name, _ in keys}
