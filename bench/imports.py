"""How long the imports of a script or notebook take, in a fresh interpreter each time: the bare one, and all its names."""

import os
import subprocess
import sys
from pathlib import Path

from bench.setting import Setting
from bench.table import Line, beside, median

PROBE = "import time; begun = time.perf_counter(); {0}; print(time.perf_counter() - begun)"
OURS = (
    "import roost",
    "import azureml.core",
    "from azureml.core import Experiment, Run, ScriptRunConfig, Workspace",
)


def seconds(python: str, statement: str, byte_code: Path) -> float:
    """With byte code kept, as everybody has it, whatever this process was told to do about it."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(byte_code)}
    command = [python, "-c", PROBE.format(statement)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    return float(done.stdout)


def typical(bench: Setting, python: str, statement: str) -> float:
    byte_code = bench.folder / "byte-code"
    seconds(python, statement, byte_code)  # compiled once
    return median(bench.rounds, lambda: seconds(python, statement, byte_code))


def measure(bench: Setting) -> list[Line]:
    lines = [
        Line(what=statement, ours=typical(bench, sys.executable, statement), unit="s", budget=0.15)
        for statement in OURS
    ]
    if bench.peers.python:
        theirs = typical(bench, bench.peers.python, "import mlflow")
        lines.append(beside(OURS[-1], lines[-1].ours, "s", "import mlflow", theirs))
    return lines
