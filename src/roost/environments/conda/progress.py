"""Progress of rattler's process during an installation: lines of JSON on standard output, for `process.py`."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

_EVERY = 1.0
"""Seconds between lines of progress."""
_STILL = 120.0
"""A download without a byte for this many seconds is given up."""


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Progress:
    """Reports the progress of an installation, at most one line a second. rattler calls it from its own threads."""

    def __init__(self, packages: Sequence[Mapping[str, Any]]) -> None:
        self._count = len(packages)
        self._bytes = sum(each.get("size") or 0 for each in packages)
        self._got: dict[int, int] = {}
        self._fetched = self._linked = self._downloads = 0
        self._due = time.monotonic() + _EVERY
        self._going: dict[int, float] = {}

    def watch(self) -> None:
        """Gives up when a download makes no progress: the connection is dead, and nothing else would detect it."""
        while True:
            time.sleep(_EVERY)
            last = max(self._going.copy().values(), default=time.monotonic())
            if time.monotonic() - last > _STILL:
                tell(error=f"The download stands still: nothing arrived for {_STILL:.0f} s, timed out.", kind="")
                os._exit(0)

    def on_transaction_start(self, total_operations: int) -> None:
        tell(say=f"Installing {total_operations} conda packages ({_mb(self._bytes)} MB).")

    def on_download_start(self, cache_entry: int) -> int:  # noqa: ARG002 - the reporter's signature
        self._downloads += 1
        self._going[self._downloads] = time.monotonic()
        return self._downloads

    def on_download_completed(self, download_idx: int) -> None:
        self._going.pop(download_idx, None)

    def on_download_progress(self, download_idx: int, progress: int, total: int | None) -> None:  # noqa: ARG002
        self._got[download_idx] = progress
        self._going[download_idx] = time.monotonic()
        self._tell()

    def on_populate_cache_complete(self, cache_entry: int) -> None:  # noqa: ARG002
        self._fetched += 1
        self._tell()

    def on_link_complete(self, index: int) -> None:  # noqa: ARG002
        self._linked += 1
        self._tell()

    def end(self) -> None:
        got = sum(self._got.values())
        loaded = f"downloaded {_mb(got)} MB in {self._downloads} files" if self._downloads else "nothing to download"
        tell(say=f"Linked {self._linked} conda packages, {loaded}.")

    def _tell(self) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        if self._fetched < self._count:
            got = f", {_mb(sum(self._got.values()))} of {_mb(self._bytes)} MB" if self._got else ""
            tell(say=f"Downloaded {self._fetched} of {self._count}{got}.")
        else:
            tell(say=f"Linked {self._linked} of {self._count}.")

    def __getattr__(self, name: str) -> Any:
        """Ignores rattler's other events."""
        if name.startswith("on_"):
            return lambda *_: 0
        raise AttributeError(name)


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}" if size < 10_000_000 else f"{size / 1e6:.0f}"
