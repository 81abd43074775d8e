"""Values that a person typed: times such as `3d`, tags such as `k=v`, statuses in any case; and the name that was meant."""

import difflib
import re
import time
from collections.abc import Sequence
from pathlib import Path

from roost.domain.errors import InvalidInput
from roost.domain.runs import RunKind, RunStatus
from roost_job.listing import some

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.ASCII)
_NAMES = {1: "second", 60: "minute", 3600: "hour", 86400: "day", 7 * 86400: "week"}
_MONTHS = re.compile(r"(\d+)\s*(?:mo|mon|month|months)", re.ASCII)
_DAYS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")


def seconds(text: str) -> float:
    """An age: `90s`, `30m`, `12h`, `7d`, `2w`."""
    found = _AGE.fullmatch(text.strip().lower())
    if not found:
        months = _MONTHS.fullmatch(text.strip().lower())
        days = f" Count months in days: {int(months[1]) * 30}d." if months else ""
        raise InvalidInput(
            f"{text!r} is not an age.", hint=f"A number and a unit: 90s, 30m (minutes), 12h, 7d or 2w.{days}"
        )
    return float(found[1]) * _UNITS[found[2]]


def in_full(text: str) -> str:
    """An age as nobody can take it for another: `5 minutes` for `5m`, which may be meant as months."""
    age = seconds(text)
    size = max((each for each in _NAMES if age >= each and age % each == 0), default=1)
    return f"{age / size:g} {_NAMES[size]}{'' if age == size else 's'}"


def submitted_before(text: str) -> str:
    """Which runs an age or a time chooses, in full."""
    if _AGE.fullmatch(text.strip().lower()):
        return f"submitted more than {in_full(text)} ago"
    return f"submitted before {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(moment(text)))}"


def moment(text: str) -> float:
    """A time in the past, as seconds since the epoch: an age, or a day or time of this machine's zone."""
    if _AGE.fullmatch(text.strip().lower()):
        return time.time() - seconds(text)
    for form in _DAYS:
        try:
            return time.mktime(time.strptime(text.strip(), form))
        except (ValueError, OverflowError):
            continue
    raise InvalidInput(
        f"{text!r} is neither an age nor a time.", hint="Such as 12h, 7d, 2026-11-01 or 2026-11-01T09:30."
    )


def tags(given: Sequence[str]) -> dict[str, str | None]:
    """`k=v` each, or `k` alone."""
    return dict(_tag(each) for each in given)


def _tag(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not key:
        raise InvalidInput(f"Tag {text!r} has no name.", hint="--tag model=resnet")
    return key, value if equals else None


def statuses(given: Sequence[str]) -> list[RunStatus]:
    """Statuses however they were written: `running`, `Not-Started`."""
    known = {status.value.lower(): status for status in RunStatus}
    return [_status(each, known) for each in given]


def kind(text: str | None) -> RunKind | None:
    """Where a run comes from, in any case; None for whatever is listed by default."""
    if text is None:
        return None
    try:
        return RunKind(text.strip().lower())
    except ValueError:
        every = ", ".join(each.value for each in RunKind)
        raise InvalidInput(f"There is no kind {text!r} of run.", hint=f"It is one of: {every}.") from None


def _status(text: str, known: dict[str, RunStatus]) -> RunStatus:
    plain = re.sub(r"[\s_-]", "", text).lower().replace("cancelled", "canceled")
    if plain in known:
        return known[plain]
    near = [known[each].value for each in difflib.get_close_matches(plain, known, n=2)]
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    every = ", ".join(status.value for status in RunStatus)
    raise InvalidInput(f"There is no status {text!r}.", hint=f"{meant}It is one of: {every}.")


def near_files(path: Path, *suffixes: str) -> str:
    """Which file in the same folder a person may have meant; empty when none is there."""
    folder = path.parent if path.parent.is_dir() else Path()
    return near(
        str(path), sorted(str(each) for suffix in suffixes for each in folder.glob(f"*{suffix}") if each.is_file())
    )


def near(name: str, there: Sequence[str]) -> str:
    """Which of these a person may have meant, or the first few of them and how many more; empty when there are none."""
    alike = difflib.get_close_matches(name, there, n=3)
    if alike:
        return f"Did you mean {', '.join(map(repr, alike))}?"
    return f"There are: {some(there)}." if there else ""
