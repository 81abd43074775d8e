"""The differences from the request, stored in the prefix: every run that starts with it reports them, not only its builder."""

from collections.abc import Iterable
from pathlib import Path

_FILE = ".notes"


def add(prefix: Path, notes: Iterable[str]) -> None:
    """Adds a line for each note; an existing note is not repeated."""
    kept = list(dict.fromkeys([*read(prefix), *notes]))
    if kept:
        (prefix / _FILE).write_text("".join(f"{note}\n" for note in kept), encoding="utf-8")


def read(prefix: Path) -> list[str]:
    try:
        return (prefix / _FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
