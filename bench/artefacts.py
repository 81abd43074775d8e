"""Artefacts: one file of 1 GiB and 2,000 of 10 kB, kept and fetched again; on one machine beside cp, over HTTP beside MLflow.

Every round has new content, for what is stored already would cost nothing.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.setting import Setting, timed
from bench.table import Line, faster_than, within
from roost import Run
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint, path_of


def measure(bench: Setting) -> list[Line]:
    big, folder = bench.folder / "big.bin", bench.folder / "many"
    make_big(big, bench.size(1024, 8))
    make_many(folder, bench.size(2_000, 100))
    rounds = max(1, bench.rounds - 2)
    run = bench.experiment.start_logging()
    far = Far(bench, run)
    near = here(bench, run, big, folder, rounds)
    http_up, http_down, theirs_big = both_ways(bench, big, far.up([big]), far.down(["kept/big.bin"], bench), rounds)
    few_up, _, theirs_many = both_ways(bench, folder, far.up(sorted(folder.iterdir())), lambda: None, rounds)
    run.complete()
    return [
        within("1 GiB kept, one machine", near["up"], "s", "cp", near["cp"], 2),
        within("1 GiB fetched, one machine", near["down"], "s", "cp", near["cp"], 2),
        faster_than("1 GiB kept, over HTTP", http_up, "s", "MLflow", theirs_big.get("up"), 3),
        faster_than("1 GiB fetched, over HTTP", http_down, "s", "MLflow", theirs_big.get("down"), 3),
        faster_than("2,000 small files kept, one machine", near["many"], "s", "MLflow", theirs_many.get("up"), 10),
        faster_than("2,000 small files kept, over HTTP", few_up, "s", "MLflow", theirs_many.get("up"), 10),
        faster_than("2,000 small files fetched", near["many_down"], "s", "MLflow", theirs_many.get("down"), 10),
    ]


def here(bench: Setting, run: Run, big: Path, folder: Path, rounds: int) -> dict[str, float]:
    """On one machine, through the SDK; cp in the same rounds, for the disk has its moods."""
    seconds: dict[str, list[float]] = {"cp": [], "up": [], "down": [], "many": [], "many_down": []}
    for number in range(rounds):
        change(big)
        change_all(folder)
        # The small copies stay until the end: ext4 is slow to make files after many were removed.
        copy, back, all_back = bench.folder / "copy", bench.folder / "back", bench.folder / f"all-back-{number}"
        bench.settle()
        seconds["cp"].append(timed(lambda: subprocess.run(["cp", str(big), str(copy)], check=True)))  # noqa: B023
        copy.unlink()
        bench.settle()
        seconds["up"].append(timed(lambda: run.upload_file(f"near{number}/big.bin", str(big))))  # noqa: B023
        bench.settle()
        seconds["down"].append(timed(lambda: run.download_file(f"near{number}/big.bin", str(back))))  # noqa: B023
        assert back.stat().st_size == big.stat().st_size
        back.unlink()
        bench.settle()
        seconds["many"].append(timed(lambda: run.upload_folder(f"near{number}/many", str(folder))))  # noqa: B023
        bench.settle()
        seconds["many_down"].append(timed(lambda: run.download_files(f"near{number}/many", str(all_back))))  # noqa: B023
        assert sum(len(files) for _, _, files in os.walk(all_back)) == len(os.listdir(folder))
    return {name: statistics.median(found) for name, found in seconds.items()}


class Far:
    """The same calls as a client that does not see the control plane's folder makes."""

    def __init__(self, bench: Setting, run: Run) -> None:
        self._client = Client(lambda: Endpoint(*bench.address()))
        self._carrier = Carrier(self._client)
        self._carrier.__dict__["shared"] = None  # as it finds on another machine
        self._run = run

    def up(self, paths: list[Path]) -> Callable[[], None]:
        def deed() -> None:
            kept = zip(paths, self._carrier.carry(paths), strict=True)
            files = [
                {"path": f"kept/{path.name}", "blob": blob, "size": size, "modified_at": time.time()}
                for path, (blob, size) in kept
            ]
            self._client.call("PUT", path_of("runs", self._run.id, "files"), json={"files": files})

        return deed

    def down(self, names: list[str], bench: Setting) -> Callable[[], None]:
        def deed() -> None:
            for name in names:
                target = bench.folder / "far-back"
                self._client.download(path_of("runs", self._run.id, "files", name), target)
                target.unlink()

        return deed


def both_ways(
    bench: Setting, path: Path, up: Callable[[], None], down: Callable[[], None], rounds: int
) -> tuple[float, float, dict[str, float]]:
    """Our seconds up and down, and MLflow's, turn by turn: what the disk and the memory feel like changes by the minute."""
    ups, downs, theirs = [], [], []
    for _ in range(rounds):
        change_all(path) if path.is_dir() else change(path)
        bench.settle()
        ups.append(timed(up))
        bench.settle()
        downs.append(timed(down))
        bench.settle()
        theirs.append(bench.peers.mlflow("artefact", path))
    medians = {way: statistics.median(each[way] for each in theirs) for way in ("up", "down") if all(theirs)}
    return statistics.median(ups), statistics.median(downs), medians


def make_big(path: Path, megabytes: int) -> None:
    with path.open("wb") as out:
        for _ in range(megabytes):
            out.write(os.urandom(1024 * 1024))


def make_many(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.bin").write_bytes(os.urandom(10_000))


def change(path: Path) -> None:
    with path.open("r+b") as out:
        out.write(os.urandom(16))


def change_all(folder: Path) -> None:
    for path in folder.iterdir():
        change(path)
