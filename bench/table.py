"""One line of the table, and the table: what, ours, peer or limit, ratio, budget, met or not."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Line:
    what: str
    ours: float
    unit: str
    """"s", "µs", "MB", "/s"…, of `ours` and `peer`."""
    against: str = ""
    """The peer or limit; empty when the budget is absolute."""
    peer: float | None = None
    budget: float | None = None
    """Of `ours`, or of the ratio when there is a peer. None: the line is there to be looked at."""
    at_least: bool = False
    """The budget is a floor; else a ceiling."""
    faster: bool = False
    """The ratio says how many times better than the peer we are; else how many times the limit we take."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Times better than the peer (`faster`), or times the limit."""
        if self.peer is None or not self.peer or not self.ours:
            return None
        rate = self.unit.endswith("/s")
        return self.peer / self.ours if self.faster and not rate else self.ours / self.peer

    @property
    def met(self) -> bool | None:
        """None when there is no budget, or there was no peer to compare with."""
        if self.budget is None or (self.against and self.ratio is None):
            return None
        figure = self.ratio if self.ratio is not None else self.ours
        return figure >= self.budget if self.at_least else figure <= self.budget

    def cells(self) -> list[str]:
        ratio = self.ratio
        return [
            self.what,
            figure(self.ours, self.unit),
            f"{self.against} {figure(self.peer, self.unit) if self.peer is not None else '—'}" if self.against else "",
            f"{number(ratio)} ×" if ratio is not None else "",
            self._budget(),
            {True: "yes", False: "NO", None: "?" if self.budget is not None else ""}[self.met],
            self.note,
        ]

    def _budget(self) -> str:
        if self.budget is None:
            return ""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {number(self.budget)} ×" if self.against else f"{sign} {figure(self.budget, self.unit)}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


def faster_than(
    what: str, ours: float, unit: str, against: str, peer: float | None, times: float, note: str = ""
) -> Line:
    """A line whose budget is "at least so many times better than the peer"."""
    return Line(
        what=what, ours=ours, unit=unit, against=against, peer=peer, budget=times, at_least=True, faster=True, note=note
    )


def within(what: str, ours: float, unit: str, against: str, limit: float | None, times: float, note: str = "") -> Line:
    """A line whose budget is "at most so many times the limit"."""
    return Line(what=what, ours=ours, unit=unit, against=against, peer=limit, budget=times, note=note)


def beside(what: str, ours: float, unit: str, against: str, peer: float | None, note: str = "") -> Line:
    """A line that is no promise: how many times the other figure ours is."""
    return Line(what=what, ours=ours, unit=unit, against=against, peer=peer, note=note)


def number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def figure(value: float, unit: str) -> str:
    return f"{number(value)} {unit}" if not unit.startswith("/") else f"{number(value)}{unit}"


def render(lines: Sequence[Line]) -> str:
    """Columns of text, aligned; met or not in words, so that no colour is needed."""
    rows = [["what", "ours", "peer or limit", "ratio", "budget", "met", ""], *(line.cells() for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    text = []
    for row in rows:
        text.append("  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip())
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def median(rounds: int, once: Callable[[], float]) -> float:
    """The median of several rounds, each measured by itself."""
    return statistics.median(once() for _ in range(rounds))
