"""Data over loopback: one large file beside curl, 2,000 small ones beside a loop of single requests, a mount beside the plain
file, and local files laid out as a folder. Ours and the peer take turns, and the ratio is the median of the rounds' ratios.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.setting import Setting, timed
from bench.table import Line, faster_than
from roost.data import supervising
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.mounting import mount
from roost.domain.datastores import Item

MEGABYTE = 1024 * 1024
LOCAL = 1_000


def measure(bench: Setting) -> list[Line]:
    folder = bench.folder / "served"
    folder.mkdir()
    size = bench.size(1024, 16)
    with (folder / "large.bin").open("wb") as file:
        for _ in range(size):
            file.write(os.urandom(MEGABYTE))
    names = [f"{number}.bin" for number in range(bench.size(2_000, 100))]
    for name in names:
        (folder / name).write_bytes(os.urandom(10_000))
    local = laid_out(bench, folder, names)
    with serving(folder) as url:
        large = item(folder, "large.bin", url)
        small = [item(folder, name, url) for name in names]
        return [
            downloaded(bench, large, f"{size} MiB fetched over HTTP"),
            many(bench, small),
            *read_mounted(bench, large, folder),
            local,
        ]


def downloaded(bench: Setting, large: Item, what: str) -> Line:
    target = bench.folder / "curl.bin"

    def theirs() -> None:
        subprocess.run(["curl", "--silent", "--fail", "--output", str(target), large.url], check=True)

    with_curl = theirs if shutil.which("curl") else None
    ours, peer = turns(bench, lambda: fetch([large], fresh(bench)), with_curl, target)
    return faster_than(what, ours, "s", "curl", peer, 0.8)


def many(bench: Setting, small: list[Item]) -> Line:
    target = bench.folder / "loop"

    def theirs() -> None:
        target.mkdir()
        for each in small:
            urllib.request.urlretrieve(each.url, target / each.name)

    ours, peer = turns(bench, lambda: fetch(small, fresh(bench)), theirs, target)
    return faster_than(f"{len(small):,} files of 10 kB fetched", ours, "s", "a loop of urlretrieve", peer, 5)


def read_mounted(bench: Setting, large: Item, folder: Path) -> list[Line]:
    """The first read brings it, the others find it."""
    if reason := supervising.why_not():
        print(f"nothing is mounted: {reason}", file=sys.stderr)
        return []
    cache = fresh(bench)
    with mount([large], bench.folder / "mounted", cache) as made:
        first = timed(lambda: read(made.path))
        ours, peer = turns(bench, lambda: read(made.path), lambda: read(folder / large.name), None)
    with mount([large], bench.folder / "again", cache) as made:
        later, limit = turns(bench, lambda: read(made.path), lambda: read(folder / large.name), None)
    cache.close()
    return [
        Line(what="mounted file, first read", ours=first, unit="s"),
        faster_than("mounted file, read again", ours, "s", "the plain file", peer, 0.5),
        faster_than("mounted file, read by the next run", later, "s", "the plain file", limit, 0.5),
    ]


def laid_out(bench: Setting, folder: Path, names: list[str]) -> Line:
    """Files of this machine: nothing is copied. The least of the rounds: ext4 is slow to make files after many were removed."""
    here = [Item(name=name, path=str(folder / name), size=10_000) for name in names[:LOCAL]]
    cache = fresh(bench)
    seconds = []
    for _ in range(bench.rounds):
        target = bench.folder / "local"
        begun = time.perf_counter()
        made = mount(here, target, cache)
        seconds.append(time.perf_counter() - begun)
        made.close()
    cache.close()
    return Line(what=f"{len(here):,} local files mounted", ours=min(seconds), unit="s", budget=0.05)


def turns(
    bench: Setting, ours: Callable[[], object], theirs: Callable[[], object] | None, target: Path | None
) -> tuple[float, float | None]:
    """Seconds of ours, and what the peer would take by the median of the ratios; each round begins with nothing fetched."""
    mine, ratios = [], []
    for _ in range(bench.rounds):
        if theirs:
            peer = timed(theirs)
        if target and target.is_dir():
            shutil.rmtree(target)
        elif target:
            target.unlink(missing_ok=True)
        mine.append(timed(ours))
        if theirs:
            ratios.append(peer / mine[-1])
    median = statistics.median(mine)
    return median, median * statistics.median(ratios) if ratios else None


def fresh(bench: Setting) -> Cache:
    """A cache with nothing in it."""
    home = bench.folder / "node"
    shutil.rmtree(home, ignore_errors=True)
    return Cache(home)


def read(path: Path) -> None:
    buffer = bytearray(MEGABYTE)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def item(folder: Path, name: str, url: str) -> Item:
    seen = (folder / name).stat()
    address = f"{url}/{name}"
    return Item(name=name, url=address, source=address, size=seen.st_size, modified_at=float(int(seen.st_mtime)))


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The server of `data_server.py`, in a process of its own; its address."""
    argv = [sys.executable, "-m", "bench.data_server", str(folder)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()
