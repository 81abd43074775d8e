"""A script that does next to nothing: submitted until Completed with its output kept, beside a Ray job and `mlflow run`."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.setting import Setting, timed
from bench.table import Line, beside, faster_than, median

SCRIPT = "import os; os.makedirs('outputs', exist_ok=True); open('outputs/result.txt', 'w').write('kept')\n"


def measure(bench: Setting) -> list[Line]:
    once(bench)  # the control plane starts, the snapshot is stored
    ours = median(max(bench.rounds, bench.size(15, 3)), lambda: once(bench))
    bare = median(bench.rounds, lambda: timed(lambda: bare_process(bench)))
    rounds = max(3, bench.rounds)
    ray = bench.peers.ray("job", rounds)
    mlflow = bench.peers.mlflow("project", rounds)
    return [
        Line(what="no-op run, submit → Completed", ours=ours, unit="s", budget=0.3),
        beside("no-op run, submit → Completed", ours, "s", "bare python", bare),
        faster_than(
            "no-op run, submit → Completed", ours, "s", "Ray job", statistics.median(ray["seconds"]) if ray else None, 6
        ),
        faster_than(
            "no-op run, submit → Completed",
            ours,
            "s",
            "mlflow run",
            statistics.median(mlflow["seconds"]) if mlflow else None,
            15,
        ),
    ]


def once(bench: Setting) -> float:
    begun = time.perf_counter()
    run = bench.submit(SCRIPT)
    run.wait_for_completion()
    seconds = time.perf_counter() - begun
    assert run.get_status() == "Completed"
    assert "outputs/result.txt" in run.get_file_names()
    return seconds


def bare_process(bench: Setting) -> None:
    folder = bench.folder / "bare"
    folder.mkdir(exist_ok=True)
    script = Path(bench.script(SCRIPT)) / "train.py"
    subprocess.run([sys.executable, str(script)], cwd=folder, check=True)
