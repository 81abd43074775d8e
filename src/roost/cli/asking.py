"""What a person typed, understood: times such as `3d`, tags such as `k=v`, and a yes before something goes for good."""

import re
import sys
import time
from collections.abc import Sequence

import typer

from roost.domain.errors import InvalidInput

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.ASCII)
_DAYS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")


def seconds(text: str) -> float:
    """An age: `90s`, `30m`, `12h`, `7d`, `2w`."""
    found = _AGE.fullmatch(text.strip().lower())
    if not found:
        raise InvalidInput(f"{text!r} is not an age.", hint="A number and a unit: 90s, 30m, 12h, 7d or 2w.")
    return float(found[1]) * _UNITS[found[2]]


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


def confirm(what: str, yes: bool) -> None:
    """Says what is about to happen and goes on after a yes; exit code 1 otherwise, InvalidInput when nobody is there to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{what} Nobody is here to say yes.", hint="--yes goes on without asking.")
    sys.stderr.write(f"{what} Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        print("Nothing was done.", file=sys.stderr)
        raise typer.Exit(1)
