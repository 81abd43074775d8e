"""Tables of texts. On a terminal they fit its width; elsewhere they are plain, whole and never cut."""

import shutil
import sys
from collections.abc import Sequence

from roost.cli.rendering.text import STATUS_STYLES, clean, clipped, styled, wide

_GAP = 2
_LEAST = 12
"""A column that may be cut keeps at least so many characters."""
_STYLED = ("status", "state")
"""Columns whose words have colours: elsewhere the same word is somebody's name for something."""


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
            style = "bold" if number == 0 else STATUS_STYLES.get(line[at], "") if columns[at] in _STYLED else ""
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
