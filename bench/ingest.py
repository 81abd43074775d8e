"""Metrics, logged → readable at the server, from one run: a submitted script's, and an interactive run's."""

import json
import time

from bench.setting import Setting, until
from bench.table import Line, faster_than, median

SCRIPT = """
import sys, time
from azureml.core import Run

run = Run.get_context()
begun = time.time()
for i in range(int(sys.argv[1])):
    run.log("loss", 0.5)
open("outputs/times.json", "w").write("[%r, %r]" % (begun, time.time()))
"""


def measure(bench: Setting) -> list[Line]:
    count = bench.size(1_000_000, 20_000)
    rounds = max(1, bench.rounds - 2)
    submitted = median(rounds, lambda: from_script(bench, count))
    interactive = median(rounds, lambda: from_here(bench, count))
    batch = bench.peers.mlflow("log_batch", bench.size(20_000, 2_000))
    peer = batch["per_second"] if batch else None
    return [
        Line(what="metrics, logged → readable", ours=submitted, unit="/s", budget=200_000, at_least=True),
        faster_than("metrics, logged → readable", submitted, "/s", "MLflow log_batch", peer, 40),
        faster_than("the same, interactive run", interactive, "/s", "MLflow log_batch", peer, 40),
    ]


def from_script(bench: Setting, count: int) -> float:
    """Points a second, from the script's first log call until the server tells of the last."""
    run = bench.submit("import os; os.makedirs('outputs', exist_ok=True)\n" + SCRIPT, [count])
    until(lambda: readable(bench, run.id) == count, seconds=300, every=0.02)
    ended = time.time()
    run.wait_for_completion()
    target = bench.folder / "times.json"
    run.download_file("outputs/times.json", str(target))
    return count / (ended - float(json.loads(target.read_text())[0]))


def from_here(bench: Setting, count: int) -> float:
    """The same for a run that lives in this process."""
    run = bench.experiment.start_logging()
    begun = time.perf_counter()
    for _ in range(count):
        run.log("loss", 0.5)
    until(lambda: readable(bench, run.id) == count, seconds=300, every=0.02)
    seconds = time.perf_counter() - begun
    run.complete()
    return count / seconds


def readable(bench: Setting, run_id: str) -> int:
    found = bench.get(f"/api/runs/{run_id}/metrics/summary")["metrics"]
    return sum(int(metric["count"]) for metric in found)
