"""What people see: tables, times, numbers. On a terminal tables fit its width; elsewhere they are plain, whole and never cut."""

import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

_GAP = 2
_LEAST = 12
"""A column that may be cut keeps at least so many characters."""
_STYLES = {
    "Completed": "green",
    "Healthy": "green",
    "Unhealthy": "red",
    "Transitioning": "cyan",
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
_STYLED = ("status", "state")
"""Columns whose words have colours: elsewhere the same word is somebody's name for something."""
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}
_BARS = "▁▂▃▄▅▆▇█"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, drop: Sequence[str] = (), cut: Sequence[str] = ()
) -> None:
    """A table of texts. Where a terminal is too narrow the columns `drop` are left out, the last named first; then those of
    `cut` are shortened. What is left out is named in a line below. Nothing is left out or cut in a pipe or file."""
    lines = [[clean(cell) for cell in row] for row in rows]
    widths = [max([wide(name), *(wide(line[at]) for line in lines)]) for at, name in enumerate(columns)]
    shown = list(range(len(columns)))
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        shown = _fitting(columns, widths, room, drop, cut)
        _shorten([at for at in shown if columns[at] in cut], widths, room, shown)
    for number, line in enumerate([columns, *lines]):
        cells = []
        for at in shown:
            text = clipped(line[at], widths[at])
            last = at == shown[-1]
            padding = "" if last else " " * (widths[at] - wide(text))
            style = "bold" if number == 0 else _STYLES.get(line[at], "") if columns[at] in _STYLED else ""
            cells.append(styled(text, style) + padding)
        print((" " * _GAP).join(cells).rstrip())
    hidden = [name for at, name in enumerate(columns) if at not in shown]
    if hidden:
        print(styled(f"No room for: {', '.join(hidden)}. A wider terminal or --json shows them.", "dim"))


def compact(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, drop: Sequence[str] = (), cut: Sequence[str] = ()
) -> None:
    """A table without the columns in which no row has anything."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    names = [columns[at] for at in kept]
    table(
        names,
        [[row[at] for at in kept] for row in rows],
        drop=[name for name in drop if name in names],
        cut=[name for name in cut if name in names],
    )


def clean(text: str) -> str:
    """Somebody's text in one line, without what would steer the terminal: escape sequences, bells, reversed writing."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if c in "\r\n\t" else _harmless(c) for c in text)


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return "\ufffd"
    return "" if category == "Cf" and character != "\u200d" else character  # which joins the parts of an emoji


def labels(tags: Mapping[str, str | None]) -> str:
    """Tags in one line: `k=v k`."""
    return " ".join(key if value is None else f"{key}={value}" for key, value in sorted(tags.items()))


def _fitting(
    columns: Sequence[str], widths: Sequence[int], room: int, drop: Sequence[str], cut: Sequence[str]
) -> list[int]:
    """Which columns there is room for, should those that may be cut be."""
    shown = list(range(len(columns)))
    for name in reversed(drop):
        least = sum(min(widths[at], _LEAST) if columns[at] in cut else widths[at] for at in shown)
        if least + _GAP * (len(shown) - 1) > room:
            shown.remove(columns.index(name))
    return shown


def _shorten(cuttable: list[int], widths: list[int], room: int, shown: list[int]) -> None:
    """Takes from the widest until all fit, or nothing more can be taken."""
    while cuttable and sum(widths[at] for at in shown) + _GAP * (len(shown) - 1) > room:
        widest = max(cuttable, key=widths.__getitem__)
        if widths[widest] <= _LEAST:
            return
        widths[widest] -= 1


def wide(text: str) -> int:
    """How many columns a terminal gives it."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, width: int) -> str:
    """Text that takes at most so many columns; one that was cut ends with `…`."""
    if wide(text) <= width:
        return text
    while text and wide(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def styled(text: str, style: str) -> str:
    """Coloured where somebody sees it and wants it: a terminal, and no NO_COLOR."""
    if not style or not text or not is_coloured():
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def is_coloured() -> bool:
    """Whether somebody sees colours and wants them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def status(word: str) -> str:
    """A status, in its colour."""
    return styled(word, _STYLES.get(word, ""))


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
