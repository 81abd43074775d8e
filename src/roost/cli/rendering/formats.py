"""Values as people read them: times, sizes, counts, tags, the course of a series; and as JSON."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

_BARS = "▁▂▃▄▅▆▇█"


def labels(tags: Mapping[str, str | None]) -> str:
    """Tags in one line: `k=v k`."""
    return " ".join(key if value is None else f"{key}={value}" for key, value in sorted(tags.items()))


def as_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def ago(then: float | None) -> str:
    """How long since, in one unit."""
    return "" if then is None else f"{duration(max(0.0, time.time() - then))} ago"


def clock(then: float) -> str:
    """The local time of day, to the millisecond."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(then))}.{int(then % 1 * 1000):03d}"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def sparkline(values: Sequence[float | None], width: int = 24) -> str:
    """The course of a series in one line; gaps where there is no finite number."""
    if len(values) > width:
        values = [values[at * (len(values) - 1) // (width - 1)] for at in range(width)]
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    return "".join(" " if v is None else _BARS[min(7, int((v - low) / span * 7.999))] for v in values)
