"""Reading one metric of a million points, thinned for a chart, over HTTP."""

import math

from bench.ingest import readable
from bench.setting import Setting, timed, until
from bench.table import Line, beside, median


def measure(bench: Setting) -> list[Line]:
    count = bench.size(1_000_000, 20_000)
    run = bench.experiment.start_logging()
    for i in range(count):
        run.log("loss", math.sin(i / 1000))
    until(lambda: readable(bench, run.id) == count, seconds=300, every=0.1)
    run.complete()
    path = f"/api/runs/{run.id}/metrics/points?name=loss&buckets=1000"
    answer = bench.get(path)
    assert answer["count"] == count and 1000 <= len(answer["values"]) <= 2002, answer["count"]
    ours = median(bench.rounds, lambda: timed(lambda: bench.get(path)))
    lines = [Line(what=f"read {count:,} points for a chart", ours=ours, unit="s", budget=0.2)]
    fewer = bench.size(20_000, 2_000)
    theirs = bench.peers.mlflow("read", fewer)
    if theirs:
        against = f"MLflow, {fewer:,} of its own:"
        lines.append(beside("the same", ours, "s", against, theirs["seconds"], note="it reads all, it thins nothing"))
    return lines
