"""The control plane: from its start until it answers, and what it takes of memory when idle (its warm process included)."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from bench.peers import free_port
from bench.setting import Setting, until
from bench.table import Line, median


def measure(bench: Setting) -> list[Line]:
    homes = iter(range(1000))
    first = median(bench.rounds, lambda: start_to_ready(bench.folder / f"first-{next(homes)}"))
    again = bench.folder / "again"
    start_to_ready(again)
    later = median(bench.rounds, lambda: start_to_ready(again))
    run = bench.submit("print('hello')")
    run.wait_for_completion()
    time.sleep(3)  # idle means idle: what the run woke has settled
    memory = idle_memory(bench.folder / "home")
    return [
        Line(what="control plane: first start to ready", ours=first, unit="s", budget=1.5, note="makes its database"),
        Line(what="control plane: start to ready", ours=later, unit="s", budget=1.5),
        Line(
            what="control plane: idle memory",
            ours=memory,
            unit="MB",
            budget=150,
            note="PSS, all its processes, after a run",
        ),
    ]


def start_to_ready(home: Path) -> float:
    """Seconds until a fresh `python -m roost.server` answers; it is ended afterwards."""
    url = f"http://127.0.0.1:{(port := free_port())}/api/health"
    argv = [sys.executable, "-m", "roost.server", "--home", str(home), "--port", str(port)]
    begun = time.perf_counter()
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: answers(url), seconds=60, every=0.005)
        return time.perf_counter() - begun
    finally:
        server.terminate()
        server.wait(30)


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except (urllib.error.URLError, OSError):
        return False
    return True


def idle_memory(home: Path) -> float:
    """Megabytes of the control plane and every process below it: shared pages are counted once (PSS)."""
    server = psutil.Process(json.loads((home / "server.json").read_text())["pid"])
    family = [server, *server.children(recursive=True)]
    for each in family:
        command = " ".join(each.cmdline())[:80]
        print(f"  {each.memory_full_info().pss / 1e6:7.1f} MB  {each.pid} {command}", file=sys.stderr)
    return float(sum(each.memory_full_info().pss for each in family) / 1e6)
