"""Messages about a snapshot or an upload: left-out folders, large files, progress. On stderr, brief."""

import builtins
import os
import sys
import time
from collections.abc import Mapping, Sequence

MEGABYTE = 1024 * 1024
LEFT_OUT_BYTES, LEFT_OUT_FILES = 10 * MEGABYTE, 2000
"""A left-out folder of this size or more is mentioned."""
LARGE_BYTES, LARGE_FILES = 300 * MEGABYTE, 5000
"""A snapshot with this much new data or more gets a warning."""
_NAMED = 5
_PATIENCE = 1.5
_EVERY = 0.2
_said: set[str] = set()


def left_out(root: str, folders: Sequence[str]) -> list[str]:
    """Prints one line with the large ones of the folders, and returns them."""
    large = [path for path in folders if _is_large(os.path.join(root, path))]
    if large:
        more = f" and {len(large) - _NAMED} more" if len(large) > _NAMED else ""
        _say(f"Left out of the snapshot, as folders of such names always are: {', '.join(large[:_NAMED])}{more}.")
    return large


def once(text: str) -> None:
    """Prints a message the first time only, although every later check finds the same."""
    if text and text not in _said:
        _said.add(text)
        _say(text)


def _is_large(folder: str) -> bool:
    """Stops counting as soon as the answer is certain."""
    count = size = 0
    for place, _, found in os.walk(folder):
        count += len(found)
        if count > LEFT_OUT_FILES:
            return True
        for name in found:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
            if size > LEFT_OUT_BYTES:
                return True
    return False


def warn_if_large(root: str, fresh: Mapping[str, os.stat_result]) -> None:
    """Names the largest files when there is much new data."""
    size = sum(seen.st_size for seen in fresh.values())
    if size <= LARGE_BYTES and len(fresh) <= LARGE_FILES:
        return
    largest = sorted(fresh, key=lambda path: -fresh[path].st_size)[:_NAMED]
    named = ", ".join(f"{path} ({_megabytes(fresh[path].st_size)})" for path in largest)
    _say(
        f"The snapshot of {root} takes in {len(fresh):,} new files, {_megabytes(size)}; the largest: {named}. "
        "Name in .amlignore what the run does not need."
    )


class Progress:
    """The progress of a long snapshot or model upload, on a terminal or in a notebook. Use it as a `with` block."""

    def __init__(self, files: int, size: int, what: str = "Snapshot") -> None:
        self._files, self._size, self._what = files, size, what
        self._done = self._bytes = 0
        self._due = time.monotonic() + _PATIENCE
        self._shown = 0
        self._seen = _is_watched()

    def __enter__(self) -> "Progress":
        return self

    def step(self, files: int, size: int) -> None:
        self._done += files
        self._bytes += size
        if self._seen and time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY
            text = f"{self._what}: {self._done:,} of {self._files:,} files, {_megabytes(self._bytes)} of {_megabytes(self._size)}"
            print(f"\r{text:<{self._shown}}", end="", file=sys.stderr, flush=True)
            self._shown = len(text)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(file=sys.stderr, flush=True)


def _is_watched() -> bool:
    return hasattr(builtins, "__IPYTHON__") or bool(sys.stderr and sys.stderr.isatty())


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:,.1f} MB"


def _say(text: str) -> None:
    if sys.stderr:
        print(text, file=sys.stderr, flush=True)
