"""Runs with data, for the journeys about it: submitted, their logs and outputs read."""

import json
import sys
from pathlib import Path

from tests.shared.folders import tree

from roost import (
    Experiment,
    Run,
    ScriptRunConfig,
)

ROOST = str(Path(sys.executable).with_name("roost"))
FILES = {
    "mnist/train-images-idx3-ubyte.gz": b"train images" * 1000,
    "mnist/train-labels-idx1-ubyte.gz": b"train labels",
    "mnist/t10k-images-idx3-ubyte.gz": b"test images" * 1000,
    "mnist/t10k-labels-idx1-ubyte.gz": b"test labels",
}


def submit(experiment: Experiment, folder: Path, script: str, *arguments: object, **more: object) -> Run:
    source = tree(folder / "source", {"train.py": script})
    return experiment.submit(ScriptRunConfig(str(source), script="train.py", arguments=list(arguments), **more))  # type: ignore[arg-type]


def log_of(run: Run) -> str:
    run.download_file("user_logs/std_log.txt", "log.txt")
    return Path("log.txt").read_text()


def output(run: Run, name: str) -> dict[str, object]:
    run.download_file(f"outputs/{name}", f"{run.id}-{name}")
    found: dict[str, object] = json.loads(Path(f"{run.id}-{name}").read_text())
    return found
