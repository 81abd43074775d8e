"""A bar on stderr while something takes its time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Bar(Protocol):
    def __call__(self, done: int, total: int) -> None: ...


@contextmanager
def progress(words: str, *, in_bytes: bool = False) -> Iterator[Bar]:
    """A bar on stderr while something takes its time; nothing when nobody watches. Call it with (done, in all)."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005 nobody watches
        return
    from rich.console import Console  # noqa: PLC0415 - heavy, and only where somebody watches
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    shown = Progress(
        TextColumn("{task.description}"), BarColumn(), amount, console=Console(stderr=True), transient=True
    )
    with shown:
        task = shown.add_task(words, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total or None)
