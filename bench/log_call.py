"""One `run.log()` in a training loop, while the agent ships what is logged; beside a bare write and MLflow's synchronous call."""

import json
import statistics

from bench.setting import Setting
from bench.table import Line, faster_than, within

SCRIPT = """
import json, os, sys, time
from azureml.core import Run

run = Run.get_context()
rounds, count = int(sys.argv[1]), int(sys.argv[2])
os.makedirs("outputs", exist_ok=True)
bare = os.open("bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
record = bytes(45)  # as long as ours
logged, written = [], []
run.log("loss", 0.0)
for _ in range(rounds):
    begun = time.perf_counter()
    for i in range(count):
        run.log("loss", 0.5)
    logged.append((time.perf_counter() - begun) / count)
    begun = time.perf_counter()
    for i in range(count):
        os.write(bare, record)
    written.append((time.perf_counter() - begun) / count)
os.unlink("bare")
with open("outputs/seconds.json", "w") as out:
    json.dump([logged, written], out)
"""


def measure(bench: Setting) -> list[Line]:
    run = bench.submit(SCRIPT, [bench.rounds, bench.size(100_000, 2_000)])
    run.wait_for_completion()
    target = bench.folder / "seconds.json"
    run.download_file("outputs/seconds.json", str(target))
    logged, written = map(statistics.median, json.loads(target.read_text()))
    sync = bench.peers.mlflow("log_sync", bench.size(100, 10))
    peer = sync["seconds"] * 1e6 if sync else None
    return [
        Line(what="log call", ours=logged * 1e6, unit="µs", budget=4),
        within("log call", logged * 1e6, "µs", "bare os.write", written * 1e6, 3.1),
        faster_than("log call", logged * 1e6, "µs", "MLflow log_metric", peer, 10_000),
    ]
