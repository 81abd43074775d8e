"""What people see: tables, times, numbers. Plain where the output is not a terminal."""

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

_WIDE = 240


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of texts; the first column is never cut."""
    from rich import box  # noqa: PLC0415 - heavy, and `--json` does without
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False)
    for number, column in enumerate(columns):
        shown.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False, markup=False).print(shown)


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
