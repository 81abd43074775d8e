"""What people see: tables, times, numbers. On a terminal tables fit its width; elsewhere they are plain, whole and never cut."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

_GAP = 2
_LEAST = 12
"""A column that may be cut keeps at least so many characters."""
_STYLES = {
    "Completed": "green",
    "Failed": "red",
    "Canceled": "yellow",
    "CancelRequested": "yellow",
    "NotResponding": "magenta",
    "Running": "cyan",
    "Finalizing": "cyan",
    "ok": "green",
    "warn": "yellow",
    "bad": "red",
}
_BARS = "▁▂▃▄▅▆▇█"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, drop: Sequence[str] = (), cut: Sequence[str] = ()
) -> None:
    """A table of texts. Where a terminal is too narrow the columns `drop` are left out, the last named first; then those of
    `cut` are shortened. Nothing is left out or cut in a pipe or file."""
    if sys.stdout.isatty():
        _on_terminal(columns, rows, drop, cut)
    else:
        _plain(columns, rows)


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [columns, *([cell.replace("\n", " ") for cell in row] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        print((" " * _GAP).join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _on_terminal(
    columns: Sequence[str], rows: Sequence[Sequence[str]], drop: Sequence[str], cut: Sequence[str]
) -> None:
    from rich import box  # noqa: PLC0415 - heavy, and neither `--json` nor a pipe needs it
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, markup=False)
    widths = {
        name: max([cell_len(name), *(cell_len(row[at]) for row in rows)]) if rows else cell_len(name)
        for at, name in enumerate(columns)
    }
    shown = list(columns)
    for name in reversed(drop):
        needed = sum(min(widths[each], _LEAST) if each in cut else widths[each] for each in shown)
        if needed + _GAP * len(shown) > console.width:
            shown.remove(name)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False, padding=(0, 1))
    for name in shown:
        may_be_cut = name in cut
        least = min(widths[name], _LEAST) if may_be_cut else widths[name] if name == columns[0] else None
        made.add_column(name, no_wrap=may_be_cut or name == columns[0], min_width=least)
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        made.add_row(*(Text(cells[name], style=_STYLES.get(cells[name], "")) for name in shown))
    console.print(made)


def status(word: str) -> str:
    """A status for a line of text: coloured on a terminal that wants colours."""
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415

    if not sys.stdout.isatty():
        return word
    console = Console(highlight=False, markup=False)
    with console.capture() as captured:
        console.print(Text(word, style=_STYLES.get(word, "")), end="")
    return captured.get()


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


class Bar(Protocol):
    def __call__(self, done: int, total: int) -> None: ...


@contextmanager
def progress(words: str, *, in_bytes: bool = False) -> Iterator[Bar]:
    """A bar on stderr while something takes its time; nothing when nobody watches. Call it with (done, in all)."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005 nobody watches
        return
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    shown = Progress(
        TextColumn("{task.description}"), BarColumn(), amount, console=Console(stderr=True), transient=True
    )
    with shown:
        task = shown.add_task(words, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total or None)
