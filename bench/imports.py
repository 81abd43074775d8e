"""How long `import roost` and `import azureml.core` take, in a fresh interpreter each time."""

import subprocess
import sys

from bench.setting import Setting
from bench.table import Line, faster_than, median

PROBE = "import time; begun = time.perf_counter(); import {0}; print(time.perf_counter() - begun)"


def seconds(python: str, module: str) -> float:
    done = subprocess.run([python, "-c", PROBE.format(module)], stdout=subprocess.PIPE, check=True, text=True)
    return float(done.stdout)


def measure(bench: Setting) -> list[Line]:
    lines = []
    for module in ("roost", "azureml.core"):
        seconds(sys.executable, module)  # byte code is compiled once
        ours = median(bench.rounds, lambda module=module: seconds(sys.executable, module))  # type: ignore[misc]
        lines.append(Line(what=f"import {module}", ours=ours, unit="s", budget=0.15))
    if bench.peers.python:
        seconds(bench.peers.python, "mlflow")
        theirs = median(bench.rounds, lambda: seconds(bench.peers.python, "mlflow"))
        lines.append(faster_than("import roost", lines[0].ours, "s", "import mlflow", theirs, 5))
    return lines
