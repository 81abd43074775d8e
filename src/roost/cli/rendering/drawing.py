"""Documents, tables and series drawn with characters: lines of text that fit a width. Prints nothing; colours only where
`rendering` says that somebody sees them. In a pipe everything is plain and whole."""

import itertools
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from roost.cli import rendering
from roost.cli.rendering.documents import Accuracy, Confusion, Document, Histogram, area, curve, merged

_BLOCKS = " ▏▎▍▌▋▊▉█"
_SHADES = (" ", "░", "▒", "▓", "█")
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_GREYS = (None, 254, 252, 250, 246)
"""Colours of a 256-colour terminal, for shares of nothing to all."""
_LABEL = 16
_PLAIN_CLASSES = 100
"""A matrix of more classes is summed up by class in a pipe too."""
_LEAST_COLUMN = 3
"""Characters of a matrix's column: a digit, and the gap before it."""
_LEAST_CURVE = 4
_MOST = 1e100
"""Numbers beyond are left out of curves: the distance of two of them is none that a float holds."""
_ROWS, _CLASSES = 50, 20
"""Rows of a table and of classes that a terminal shows."""


def room() -> int:
    """Columns to fill: the terminal's, or many in a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000


def document(found: Document) -> list[str]:
    if isinstance(found, Confusion):
        return confusion(found)
    return accuracy(found) if isinstance(found, Accuracy) else histogram(found)


# ---- confusion matrices


def confusion(found: Confusion) -> list[str]:
    """A table with a shade for each share of its row; by class where it would be too wide."""
    words = f"{number(found.total)} in {rendering.count(len(found.labels), 'class').replace('classs', 'classes')}"
    score = found.accuracy
    head = f"{words}, accuracy {percent(score)}. " if score is not None else f"{words}. "
    labels = [_short(label) for label in found.labels]
    most = room() // _LEAST_COLUMN if sys.stdout.isatty() else _PLAIN_CLASSES
    for heads in (labels, [str(at + 1) for at in range(len(labels))]) if len(labels) <= most else ():
        lines = _matrix(found, labels, heads)
        if max(rendering.wide(plain) for plain, _ in lines) <= room():
            return [*wrapped(f"{head}Rows are true classes, columns predicted ones."), *(styled for _, styled in lines)]
    by_class = "No room for the matrix; by class, those that are recognized least first."
    return [*wrapped(head + by_class), *_by_class(found)]


def _matrix(found: Confusion, labels: Sequence[str], heads: Sequence[str]) -> list[tuple[str, str]]:
    """Lines as plain text and as they are shown."""
    numbered = list(heads) != list(labels)
    names = [f"{at + 1} {label}" if numbered else label for at, label in enumerate(labels)]
    side = max(rendering.wide(name) for name in [*names, "precision"])
    cells = [[number(count) for count in row] for row in found.counts]
    widths = [
        max(rendering.wide(heads[at]), *(len(row[at]) for row in cells), len(percent(found.precision(at))))
        for at in range(len(labels))
    ]
    top = [_right(head, width) for head, width in zip(heads, widths, strict=True)]
    lines = [(text := "  ".join([" " * side, *top, "recall"]), rendering.styled(text, "bold"))]
    for at, row in enumerate(cells):
        whole = sum(found.counts[at])
        texts = [_right(cell, width) for cell, width in zip(row, widths, strict=True)]
        shaded = [
            shade(f" {text} ", found.counts[at][place] / whole if whole else 0.0) for place, text in enumerate(texts)
        ]
        recall = percent(found.recall(at)).rjust(6)
        plain = "  ".join([_left(names[at], side), *texts, recall])
        lines.append((plain, f"{_left(names[at], side)} {''.join(shaded)} {recall}"))
    last = [percent(found.precision(at)).rjust(width) for at, width in enumerate(widths)]
    lines.append((text := "  ".join([_left("precision", side), *last]), text))
    return lines


def _by_class(found: Confusion) -> list[str]:
    recalls = {at: found.recall(at) for at in range(len(found.labels))}
    order = sorted(recalls, key=lambda at: (recalls[at] is None, recalls[at] or 0.0))
    rows = []
    for at in order:
        other = found.taken_for(at)
        rows.append(
            (
                _short(found.labels[at]),
                number(sum(found.counts[at])),
                percent(found.recall(at)),
                percent(found.precision(at)),
                f"{_short(other[0])} ({number(other[1])})" if other else "",
            )
        )
    return _limited(grid(("class", "count", "recall", "precision", "mostly taken for"), rows), len(rows), "classes")


def shade(text: str, share: float) -> str:
    """Text on a ground as dark as its share; in a terminal without colours a sign before it instead; plain in a pipe."""
    level = min(len(_SHADES) - 1, math.ceil(share * (len(_SHADES) - 1))) if share > 0 else 0
    if not sys.stdout.isatty() or not level:
        return text
    if not rendering.is_coloured():
        return _SHADES[level] + text[1:]
    ground = _GREYS[level] if "256" in os.environ.get("TERM", "") else 47
    code = f"48;5;{ground}" if ground != 47 else "47"
    return f"\x1b[30;{code}m{text}\x1b[0m"


# ---- accuracy tables


def accuracy(found: Accuracy) -> list[str]:
    """The area below the curve of each class, then precision and recall at thresholds and the curve of all together."""
    rows = []
    for label, table in zip(found.labels, found.tables, strict=True):
        best = max(range(len(table)), key=lambda at: table[at].f1 or 0.0)
        rows.append(
            (_short(label), f"{area(curve(table)):.3f}", f"{table[best].f1 or 0.0:.3f}", number(found.thresholds[best]))
        )
    lines = _limited(grid(("class", "AUC", "best F1", "at threshold"), rows), len(rows), "classes")
    every = found.summed()
    points = curve(every)
    together = "of all classes together" if len(rows) > 1 else ""
    lines += ["", *wrapped(f"Precision and recall at thresholds {together}".rstrip() + ":")]
    wanted = _spread(len(found.thresholds), 11)
    lines += grid(
        ("threshold", "precision", "recall", "true +", "false +", "true -", "false -"),
        [
            (
                number(found.thresholds[at]),
                _decimal(every[at].precision),
                _decimal(every[at].recall),
                *(number(getattr(every[at], name)) for name in ("tp", "fp", "tn", "fn")),
            )
            for at in wanted
        ],
    )
    if len(wanted) < len(found.thresholds):
        lines += wrapped(f"{len(wanted)} of {len(found.thresholds)} thresholds; --json has them all.")
    lines += ["", *wrapped(f"ROC curve {together}".rstrip() + f", AUC {area(points):.3f}:")]
    return [*lines, *plot(points, (0.0, 1.0), (0.0, 1.0), "false positive rate", "true positive rate")]


# ---- histograms


def histogram(found: Histogram) -> list[str]:
    """A bar for each bin; for predictions their mean and error too."""
    shown, size = merged(found, 24 if sys.stdout.isatty() else 200)
    heads = ["from", "to", "count"]
    rows = [
        [number(shown.edges[at]), number(shown.edges[at + 1]), number(count)] for at, count in enumerate(shown.counts)
    ]
    if shown.averages:
        heads[:2] = ["true from", "to"]
        heads += ["predicted", "±"]
        for at, row in enumerate(rows):
            row += [number(shown.averages[at]), number(shown.errors[at]) if shown.errors else ""]
    taken = max(map(rendering.wide, grid(heads, rows)))
    width = max(0, min(40, room() - taken - 2))
    most = max(max(shown.counts), 0.0)
    if width >= 4:
        heads.append("")
        rows = [[*row, bar(count, most, width)] for row, count in zip(rows, shown.counts, strict=True)]
    words = f"{number(sum(found.counts))} in {rendering.count(len(found.counts), 'bin')}"
    merges = f", {size} in each line" if size > 1 else ""
    return [*wrapped(f"{words}{merges}."), *grid(heads, rows)]


def bar(value: float, most: float, width: int) -> str:
    """As long as its share of the most, to an eighth of a character."""
    if most <= 0 or value <= 0:
        return ""
    eighths = max(1, round(value / most * width * 8))
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()


# ---- tables and series


def columns(found: Mapping[str, Any]) -> list[str]:
    """A logged table: lists by column, or single values."""
    lists = {str(name): values if isinstance(values, list) else [values] for name, values in found.items()}
    length = max(map(len, lists.values()), default=0)
    most = _ROWS if sys.stdout.isatty() else length
    rows = [
        [cell(values[at]) if at < len(values) else "" for values in lists.values()] for at in range(min(length, most))
    ]
    lines = grid(list(lists), rows)
    if length > most:
        lines += wrapped(f"… and {length - most} more rows; a pipe, a file or --json has them all.")
    return lines


def series(values: Sequence[Any]) -> list[str]:
    """A course as a curve, in a terminal; empty where there is none to draw."""
    known = [(float(at), float(v)) for at, v in enumerate(values) if _is_finite(v)]
    if not sys.stdout.isatty() or len(known) < _LEAST_CURVE:
        return []
    low, high = min(y for _, y in known), max(y for _, y in known)
    return plot(known, (known[0][0], known[-1][0]), (low, high), "points", "")


def plot(
    points: Sequence[tuple[float, float]],
    across: tuple[float, float],
    up: tuple[float, float],
    x_name: str,
    y_name: str,
) -> list[str]:
    """A curve in Braille, with its axes."""
    width, height = max(8, min(48, room() - 14)), 10
    marks = [[0] * width for _ in range(height)]
    span_x, span_y = (across[1] - across[0]) or 1.0, (up[1] - up[0]) or 1.0
    dots = [((x - across[0]) / span_x * (width * 2 - 1), (up[1] - y) / span_y * (height * 4 - 1)) for x, y in points]
    for x, y in _joined(dots, width * 2):
        column, row = min(width * 2 - 1, max(0, round(x))), min(height * 4 - 1, max(0, round(y)))
        marks[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    side = max(len(number(up[0])), len(number(up[1])))
    lines = [y_name] if y_name else []
    for at, line in enumerate(marks):
        label = number(up[1]) if at == 0 else number(up[0]) if at == height - 1 else ""
        lines.append(f"{label:>{side}} ┤{''.join(chr(0x2800 + mark) for mark in line)}")
    ends = number(across[0]), number(across[1])
    middle = x_name.center(max(0, width - len(ends[0]) - len(ends[1])))
    return [*lines, f"{' ' * side} └{'─' * width}", f"{' ' * side}  {ends[0]}{middle}{ends[1]}"]


def _joined(dots: Sequence[tuple[float, float]], width: int) -> list[tuple[float, float]]:
    """The dots with straight lines between them; so many only that drawing stays quick."""
    if len(dots) > width * 4:
        dots = [dots[at] for at in _spread(len(dots), width * 4)]
    found = list(dots[:1])
    for (x1, y1), (x2, y2) in itertools.pairwise(dots):
        steps = max(1, math.ceil(max(abs(x2 - x1), abs(y2 - y1))))
        found += [(x1 + (x2 - x1) * n / steps, y1 + (y2 - y1) * n / steps) for n in range(1, steps + 1)]
    return found


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines: numbers stand at the right, and in a terminal the columns at the end that do not fit are left out."""
    cells = [[rendering.clean(text) for text in row] for row in [heads, *rows]]
    widths = [max(rendering.wide(row[at]) for row in cells) for at in range(len(heads))]
    shown = len(heads)
    while shown > 1 and sum(widths[:shown]) + 2 * (shown - 1) > room():
        shown -= 1
    numeric = [bool(rows) and all(_looks_numeric(row[at]) for row in cells[1:]) for at in range(len(heads))]
    lines = []
    for row in cells:
        texts = [
            (_right if numeric[at] else _left)(rendering.clipped(row[at], room()), min(widths[at], room()))
            for at in range(shown)
        ]
        lines.append("  ".join(texts).rstrip())
    if shown < len(heads):
        left_out = ", ".join(filter(None, cells[0][shown:]))
        lines += wrapped(f"No room for: {left_out}. A wider terminal or --json shows them.")
    return lines


def _limited(lines: list[str], count: int, what: str) -> list[str]:
    """The head and the first rows in a terminal; all in a pipe."""
    if not sys.stdout.isatty() or count <= _CLASSES:
        return lines
    return [*lines[: _CLASSES + 1], *wrapped(f"… and {count - _CLASSES} more {what}; a pipe or a file has them all.")]


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, max(20, min(room(), 120)))


def _spread(count: int, most: int) -> list[int]:
    return list(range(count)) if count <= most else [at * (count - 1) // (most - 1) for at in range(most)]


def cell(value: Any) -> str:
    """One logged value in a few words."""
    if isinstance(value, dict) and "float" in value:
        return str(value["float"])
    if isinstance(value, float):
        return number(value)
    return "" if value is None else str(value)


def whole(value: Any) -> str:
    """One logged value, with all its digits."""
    return cell(value) if isinstance(value, dict) else str(value)


def number(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else rendering.number(value)


def percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f}%"


def _decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST


def _looks_numeric(text: str) -> bool:
    try:
        float(text.rstrip("%") or 0)
    except ValueError:
        return False
    return True


def _short(label: str) -> str:
    """A label that leaves room for the others; whole in a pipe."""
    clean = rendering.clean(label)
    return rendering.clipped(clean, _LABEL) if sys.stdout.isatty() else clean


def _left(text: str, width: int) -> str:
    return text + " " * max(0, width - rendering.wide(text))


def _right(text: str, width: int) -> str:
    return " " * max(0, width - rendering.wide(text)) + text
