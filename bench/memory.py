"""The memory of a virtual machine, made to behave like a machine's own.

A host may take back what its guest does not use (free page reporting of virtio's balloon), and does so within seconds; whoever
needs it next waits for it, a second or more for each gigabyte, inside of an ordinary write. That is longer than anything that is
measured here, and strikes at random. So while a benchmark runs, most of the free memory is held, and what is left is used once
right before each turn: it is there, then, for ours and for theirs. Elsewhere there is nothing to do.
"""

import mmap
from contextlib import suppress
from functools import cache
from pathlib import Path

_GIB = 1 << 30
_LEFT_FREE = 6 * _GIB
"""For what is measured: several files of 1 GiB, in the page cache of two programs."""
_SPARE = _GIB // 2
_BALLOON, _REPORTING = "0x0005", 5
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, which Python has no name for


def warm() -> None:
    """All free memory is this machine's, for the seconds to come."""
    if _is_given_back():
        _hold()
        _take(_free() - _SPARE).close()


@cache
def _is_given_back() -> bool:
    for device in Path("/sys/bus/virtio/devices").glob("*"):
        if (device / "device").read_text().strip() == _BALLOON:
            return (device / "features").read_text()[_REPORTING] == "1"
    return False


@cache
def _hold() -> mmap.mmap:
    """Until this process ends."""
    return _take(_free() - _LEFT_FREE)


def _take(size: int) -> mmap.mmap:
    held = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # an old kernel
        for advice in (mmap.MADV_DONTFORK, mmap.MADV_HUGEPAGE, _POPULATE_WRITE):
            held.madvise(advice)
    return held


def _free() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemFree:"):
            return int(line.split()[1]) * 1024
    return 0
