"""A source folder of 10,000 files and 1 GB of which one file has changed: submitting it, and the working copy on the node."""

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from bench.setting import Setting, timed
from bench.table import Line, beside, within
from roost import Run, ScriptRunConfig

SCRIPT = (
    "import os, time; t = time.time(); os.makedirs('outputs', exist_ok=True); open('outputs/t', 'w').write(repr(t))\n"
)


def measure(bench: Setting) -> list[Line]:
    source = bench.folder / "tree"
    make_tree(source, files=bench.size(10_000, 300), size=bench.size(100_000, 1_000))
    os.sync()
    first = timed(lambda: submit(bench, source).wait_for_completion())
    seconds: dict[str, list[float]] = {"submit": [], "walk": [], "work": [], "copy": []}
    for number in range(bench.rounds):
        (source / "f000" / "0.bin").write_bytes(f"changed {number}".encode() * 1000)
        bench.settle()
        begun = time.perf_counter()
        run = submit(bench, source)
        seconds["submit"].append(time.perf_counter() - begun)
        seconds["work"].append(until_script(bench, run) - until_script(bench, bench.submit(SCRIPT)))
        seconds["walk"].append(timed(lambda: walk_tree(source)))
        bench.settle()
        seconds["copy"].append(timed(lambda: copy_tree(source, bench.folder / f"copy-{number}")))  # noqa: B023
    found = {name: statistics.median(each) for name, each in seconds.items()}
    return [
        within("snapshot, one file changed: submit", found["submit"], "s", "walk", found["walk"], 2),
        within(
            "working copy from the node's cache",
            found["work"],
            "s",
            "cp -r",
            found["copy"],
            1.5,
            note="over a run with one file",
        ),
        beside("the first time: submit → Completed", first, "s", "cp -r", found["copy"], note="everything is new"),
    ]


def make_tree(source: Path, *, files: int, size: int) -> None:
    for number in range(files):
        folder = source / f"f{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.bin").write_bytes(os.urandom(size))
    (source / "train.py").write_text(SCRIPT)


def submit(bench: Setting, source: Path) -> Run:
    return bench.experiment.submit(ScriptRunConfig(str(source), script="train.py"))


def until_script(bench: Setting, run: Run) -> float:
    """Seconds from the run's start on its node until the first line of its script."""
    run.wait_for_completion()
    target = bench.folder / "t"
    run.download_file("outputs/t", str(target))
    events = bench.get(f"/api/runs/{run.id}/events")["events"]
    given = next(event["at"] for event in events if event["to"] == "Provisioning")
    return float(json.loads(target.read_text())) - float(given)


def walk_tree(source: Path) -> int:
    """What cannot be avoided: every file's name, size and time."""
    total, folders = 0, [str(source)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def copy_tree(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)
