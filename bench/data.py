"""Data: one large file beside curl over loopback, 2,000 small ones of a datastore and of a web server 2 ms away beside a loop of
single requests, a mount beside the plain file, and local files laid out as a folder. Ours and the peer take turns, and the ratio
is the median of the rounds' ratios.

Every turn has a folder of its own, and small files stay until all is measured: for a while ext4 does not use the inodes of
removed files again, and passes over all of them for each file it makes, which takes up to 20 times as long as making it.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.setting import Setting, timed
from bench.table import Line, beside, faster_than
from roost.data import supervising
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.mounting import mount
from roost.domain import codec
from roost.domain.datastores import Item
from roost.transport.client import Endpoint

MEGABYTE = 1024 * 1024
LOCAL = 1_000
AWAY = 0.002
"""Seconds: a server in the same building. A loop waits for each file, and loopback alone would tell nothing of that."""


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
    own = from_datastore(bench, [folder / name for name in names])
    with serving(folder) as url:
        large = item(folder, "large.bin", url)
        small = [item(folder, name, url) for name in names]
        lines = [
            downloaded(bench, large, f"{size} MiB fetched over HTTP"),
            beside(*one_by_one(bench, small, "loopback")),
            at_once(bench, small),
            *read_mounted(bench, large, folder),
            local,
        ]
    with serving(folder, AWAY) as url:
        far = [item(folder, name, url) for name in names]
        apart = faster_than(*one_by_one(bench, far, f"{AWAY * 1000:.0f} ms away"), 5)
        return [lines[0], own, apart, *lines[1:]]


def downloaded(bench: Setting, large: Item, what: str) -> Line:
    def theirs(folder: Path) -> None:
        subprocess.run(["curl", "--silent", "--fail", "--output", str(folder / "large.bin"), large.url], check=True)

    with_curl = theirs if shutil.which("curl") else None
    ours, peer = turns(bench, lambda folder: fetch([large], Cache(folder)), with_curl, large=True)
    return faster_than(what, ours, "s", "curl", peer, 0.8)


def at_once(bench: Setting, small: list[Item]) -> Line:
    """With nothing to wait for, the limit is what a program in C needs to ask for each, and to make each file."""

    def theirs(folder: Path) -> None:
        wanted = folder / "wanted"
        wanted.write_text("".join(f'url="{each.url}"\noutput="{folder / each.name}"\n' for each in small))
        subprocess.run(
            ["curl", "--silent", "--parallel", "--config", str(wanted)], check=True, stderr=subprocess.DEVNULL
        )

    with_curl = theirs if shutil.which("curl") else None
    ours, peer = turns(bench, lambda folder: fetch(small, Cache(folder)), with_curl)
    return beside(f"{len(small):,} files of 10 kB fetched, loopback", ours, "s", "curl --parallel", peer)


def one_by_one(bench: Setting, small: list[Item], where: str) -> tuple[str, float, str, str, float | None]:
    """What a line tells of them, beside a loop that asks for each when it has the one before."""

    def theirs(folder: Path) -> None:
        for each in small:
            urllib.request.urlretrieve(each.url, folder / each.name)

    ours, peer = turns(bench, lambda folder: fetch(small, Cache(folder)), theirs)
    return f"{len(small):,} files of 10 kB fetched, {where}", ours, "s", "a loop of urlretrieve", peer


def from_datastore(bench: Setting, files: list[Path]) -> Line:
    """Of the workspace's own datastore, by one who does not see its folder; beside a loop that asks for each."""
    store = bench.experiment.workspace.get_default_datastore()
    store.upload_files([str(path) for path in files], target_path="many", show_progress=False)
    found = bench.get(f"/api/workspaces/{store.workspace.name}/datastores/{store.name}/items?path=many")
    small = [codec.decode(Item, each) for each in found["items"]]
    assert len(small) == len(files)
    url, token = bench.address()

    def theirs(folder: Path) -> None:
        for each in small:
            (folder / Path(each.name).name).write_bytes(bench.get_bytes(each.url))

    ours, peer = turns(bench, lambda folder: fetch(small, Cache(folder), locate=lambda: Endpoint(url, token)), theirs)
    what = f"{len(small):,} files of 10 kB fetched of a datastore"
    return faster_than(what, ours, "s", "a loop of urlopen", peer, 5)


def read_mounted(bench: Setting, large: Item, folder: Path) -> list[Line]:
    """The first read brings it, the others find it."""
    if reason := supervising.why_not():
        print(f"nothing is mounted: {reason}", file=sys.stderr)
        return []
    cache = Cache(bench.folder / "node")
    with mount([large], bench.folder / "mounted", cache) as made:
        first = timed(lambda: read(made.path))
        os.sync()  # what it brought is being written meanwhile, which is not what is measured
        ours, peer = turns(bench, lambda _: read(made.path), lambda _: read(folder / large.name))
    with mount([large], bench.folder / "again", cache) as made:
        later, limit = turns(bench, lambda _: read(made.path), lambda _: read(folder / large.name))
    cache.close()
    return [
        Line(what="mounted file, first read", ours=first, unit="s"),
        faster_than("mounted file, read again", ours, "s", "the plain file", peer, 0.5),
        faster_than("mounted file, read by the next run", later, "s", "the plain file", limit, 0.5),
    ]


def laid_out(bench: Setting, folder: Path, names: list[str]) -> Line:
    """Files of this machine: nothing is copied."""
    here = [Item(name=name, path=str(folder / name), size=10_000) for name in names[:LOCAL]]
    cache = Cache(bench.folder / "local")
    made = []
    seconds, _ = turns(bench, lambda folder: made.append(mount(here, folder, cache)), None)
    for each in made:
        each.close()
    cache.close()
    return Line(what=f"{len(here):,} local files mounted", ours=seconds, unit="s", budget=0.05)


Turn = Callable[[Path], object]


def turns(bench: Setting, ours: Turn, theirs: Turn | None, *, large: bool = False) -> tuple[float, float | None]:
    """Seconds of ours, and what the peer would take by the median of the ratios. Each is given an empty folder;
    what is `large` is removed at once."""
    mine, ratios = [], []

    def turn(deed: Turn) -> float:
        folder = Path(tempfile.mkdtemp(dir=bench.folder))
        if large:
            bench.settle()
        seconds = timed(lambda: deed(folder))
        if large:
            shutil.rmtree(folder)
        return seconds

    for _ in range(bench.rounds):
        peer = turn(theirs) if theirs else None
        mine.append(turn(ours))
        if peer is not None:
            ratios.append(peer / mine[-1])
    median = statistics.median(mine)
    return median, median * statistics.median(ratios) if ratios else None


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
def serving(folder: Path, away: float = 0.0) -> Iterator[str]:
    """The server of `data_server.py`, in a process of its own; its address. Its small answers come `away` seconds later."""
    argv = [sys.executable, "-m", "bench.data_server", str(folder), str(away)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()
