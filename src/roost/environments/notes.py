"""What is not as it was asked for, kept in the prefix: every run that begins with it says so, not only the one that built it."""

from collections.abc import Iterable
from pathlib import Path

_FILE = ".notes"


def add(prefix: Path, notes: Iterable[str]) -> None:
    """A line each; one that is there already is not said twice."""
    kept = list(dict.fromkeys([*read(prefix), *notes]))
    if kept:
        (prefix / _FILE).write_text("".join(f"{note}\n" for note in kept), encoding="utf-8")


def read(prefix: Path) -> list[str]:
    try:
        return (prefix / _FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
