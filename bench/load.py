"""Many runs at once: 200 that log ten points a second, 1,000 that wait, and a person who asks. Also what one quiet run costs.

Figures of processors are seconds on a core for each second, so they hold on a busy machine too; the last lines say what the
machine itself had to do, of which the scripts and agents are no work of the control plane.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import usage
from bench.setting import Setting, timed, until
from bench.table import Line
from roost import Run, ScriptRunConfig

QUIET = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(2)\n"
BUSY = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
while not os.path.exists(sys.argv[1]):
    run.log("loss", 1.0)
    time.sleep(0.1)
"""
QUIET_RUNS = 10
QUIET_AGE = 62
"""Seconds after which a run counts as quiet: system metrics are rarer then."""
CLIENTS = 4
"""Threads that submit."""
LISTED = 50


def measure(bench: Setting) -> list[Line]:
    running, queued = bench.size(bench.running, 4), bench.size(1000, 12)
    os.environ["ROOST_LOCAL_SLOTS"] = str(running)
    return [*quiet(bench), *loaded(bench, running, queued)]


def quiet(bench: Setting) -> list[Line]:
    """What a run costs in which nothing happens."""
    count = bench.size(QUIET_RUNS, 2)
    with submitted(bench, QUIET, count, 0) as (runs, _):
        await_running(bench, count, runs)
        time.sleep(bench.size(QUIET_AGE, 1))
        home = bench.folder / "home"
        groups = {"control plane": [server(bench)], **usage.agents(home)}
        took = cores(groups, bench.size(25, 2))
    time.sleep(5)  # the last of them has been taken in
    groups = {"control plane": [server(bench)]}
    idle = cores(groups, bench.size(10, 2))["control plane"]
    took["control plane"] = max(took["control plane"] - idle, 0.0)
    names = {"agents": "its agent", "keepers": "its keeper", "control plane": "the control plane"}
    return [
        Line(what=f"quiet run, {words}", ours=100 * took[name] / count, unit="% of a core", budget=0.1)
        for name, words in names.items()
    ] + [Line(what="control plane without runs", ours=100 * idle, unit="% of a core")]


def loaded(bench: Setting, running: int, queued: int) -> list[Line]:
    with submitted(bench, BUSY, running, queued) as (runs, per_second):
        there = await_running(bench, running, runs)
        time.sleep(bench.size(10, 1))
        groups = {"control plane": [server(bench)], **usage.agents(bench.folder / "home")}
        seconds = float(bench.size(30, 3))
        before, begun, machine = points(bench), time.monotonic(), usage.machine_seconds()
        with ThreadPoolExecutor(4) as pool:
            route = f"/api/workspaces/{runs[0].experiment.workspace.name}/runs?limit={LISTED}"
            lists = pool.submit(ask, bench, route, seconds)
            ones = pool.submit(ask, bench, f"/api/runs/{runs[0].id}", seconds)
            commands = pool.submit(command, bench, seconds)
            took = cores(groups, seconds)
            asked = {f"list of {LISTED}": lists.result(), "one run": ones.result()}
            typed = commands.result()
        rate = (points(bench) - before) / (time.monotonic() - begun)
        done, had = (now - then for now, then in zip(usage.machine_seconds(), machine, strict=True))
        memory = usage.memory(server(bench))
    size = f"{there} running, {queued} queued"
    return [
        *(line for what, times in asked.items() for line in latencies(what, times, 0.2, size)),
        *latencies("roost run list", typed, 1.0, size),
        Line(
            what="submissions while runs start", ours=per_second, unit="/s", budget=50, at_least=True, note="by the SDK"
        ),
        Line(what="points taken in", ours=rate, unit="/s", budget=9.0 * there, at_least=True, note="10 a second each"),
        Line(what="control plane under load", ours=100 * took["control plane"], unit="% of a core", note=size),
        Line(what="control plane under load, memory", ours=memory, unit="MB", note="PSS"),
        Line(what="one run that logs, its agent", ours=100 * took["agents"] / max(there, 1), unit="% of a core"),
        Line(what="one run that logs, its script", ours=100 * took["scripts"] / max(there, 1), unit="% of a core"),
        Line(
            what="the machine, all processes",
            ours=100 * done / had,
            unit="% of its cores",
            note=f"{os.cpu_count()} cores; ours {100 * sum(took.values()) * seconds / had:.0f} %",
        ),
    ]


@contextmanager
def submitted(bench: Setting, text: str, running: int, queued: int) -> Iterator[tuple[list[Run], float]]:
    """That many runs of a script which ends when a file appears; and how many were submitted in a second."""
    stop = bench.folder / "stop"
    stop.unlink(missing_ok=True)
    config = ScriptRunConfig(bench.script(text), script="train.py", arguments=[str(stop)])
    bench.experiment.submit(config)  # the snapshot is stored, the control plane is there
    with ThreadPoolExecutor(CLIENTS) as pool:
        begun = time.perf_counter()
        runs = list(pool.map(lambda _: bench.experiment.submit(config), range(running + queued - 1)))
        rate = len(runs) / (time.perf_counter() - begun)
        try:
            yield runs, rate
        finally:
            waiting = bench.get(f"/api/workspaces/{runs[0].experiment.workspace.name}/runs?limit=10000&status=Queued")
            list(pool.map(lambda run: post(bench, f"/api/runs/{run['id']}/cancel"), waiting["runs"]))
            stop.touch()
            home = bench.folder / "home"
            until(lambda: not usage.agents(home)["agents"], seconds=120, every=0.5)


def await_running(bench: Setting, wanted: int, runs: list[Run]) -> int:
    """How many run once all do, or none has begun for half a minute: the machine can hold no more."""
    route = f"/api/workspaces/{runs[0].experiment.workspace.name}/runs?limit=10000&status=Running"
    count, since = 0, time.monotonic()
    while count < wanted and time.monotonic() < since + 30:
        now = len(bench.get(route)["runs"])
        count, since = (now, time.monotonic()) if now > count else (count, since)
        time.sleep(1)
    print(f"  {count} of {wanted} runs are running", file=sys.stderr)
    return count


def cores(groups: usage.Groups, seconds: float) -> dict[str, float]:
    """How many cores each group keeps busy, over so many seconds."""
    before = {name: usage.processor_seconds(pids) for name, pids in groups.items()}
    begun = time.monotonic()
    time.sleep(seconds)
    span = time.monotonic() - begun
    return {name: (usage.processor_seconds(pids) - before[name]) / span for name, pids in groups.items()}


def ask(bench: Setting, route: str, seconds: float) -> list[float]:
    """How long each answer takes, over one connection, ten questions a second."""
    url, token = bench.address()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def once() -> None:
        connection.request("GET", route, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{route} was answered with {answer.status}")

    return repeated(once, seconds, 0.1)


def command(bench: Setting, seconds: float) -> list[float]:
    argv = [str(Path(sys.executable).with_name("roost")), "run", "list"]

    def once() -> None:
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=bench.folder)

    return repeated(once, seconds, 1.0)


def repeated(deed: Callable[[], Any], seconds: float, pause: float) -> list[float]:
    end, times = time.monotonic() + seconds, []
    while time.monotonic() < end or not times:
        times.append(timed(deed))
        time.sleep(pause)
    return times


def latencies(what: str, times: list[float], budget: float, note: str) -> list[Line]:
    late = sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]
    return [
        Line(what=f"{what}, median", ours=statistics.median(times), unit="s", note=f"{len(times)} times; {note}"),
        Line(what=f"{what}, p99", ours=late, unit="s", budget=budget),
    ]


def points(bench: Setting) -> int:
    """That the control plane has, of all runs that are running."""
    found = bench.get("/api/workspaces/default/runs?limit=10000&status=Running&metric=loss")
    return sum(each["count"] for summaries in found["metrics"].values() for each in summaries)


def post(bench: Setting, path: str) -> None:
    url, token = bench.address()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", path, headers={"Authorization": f"Bearer {token}"})
    connection.getresponse().read()
    connection.close()


def server(bench: Setting) -> int:
    return int(json.loads((bench.folder / "home" / "server.json").read_text())["pid"])
