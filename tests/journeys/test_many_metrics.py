"""Metrics in numbers: ten thousand names in one run, a million points of one, whatever a float can be."""

import math
from pathlib import Path

import pytest
from tests.shared.folders import tree

from roost import Experiment, ScriptRunConfig

pytestmark = pytest.mark.slow

NAMES = """
import sys
from azureml.core import Run
run = Run.get_context()
for times in range(3):
    for number in range(10000):
        run.log("layer/%05d/größe" % number, number + times)
found = run.get_metrics()
assert len(found) == 10000 and found["layer/09999/größe"] == [9999, 10000, 10001], len(found)
"""


def submit(experiment: Experiment, folder: Path, script: str):  # type: ignore[no-untyped-def]
    tree(folder / "source", {"train.py": script})
    run = experiment.submit(ScriptRunConfig(str(folder / "source"), script="train.py"))
    run.wait_for_completion(show_output=True)
    return run


def test_ten_thousand_names(experiment: Experiment, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, NAMES)
    found = run.get_metrics()
    assert len(found) == 10_000
    assert found["layer/00007/größe"] == [7, 8, 9]
    assert run.get_metrics("layer/00007/größe") == {"layer/00007/größe": [7, 8, 9]}


def test_a_million_points(experiment: Experiment, tmp_path: Path) -> None:
    script = "from azureml.core import Run\nrun = Run.get_context()\nfor n in range(1000000): run.log('loss', n)"
    run = submit(experiment, tmp_path, script)
    assert run.get_metrics("loss")["loss"] == list(range(1_000_000))


def test_whatever_a_float_can_be(experiment: Experiment) -> None:
    odd = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308]
    with experiment.start_logging() as run:
        for value in odd:
            run.log("odd", value)
        run.log("alone", math.nan)
        run.log_row("row", x=math.inf, ü="é")
        run.log_table("table", {"x": [math.nan, 1], "\t": [None, True]})
        run.log(" ", "blank")
        run.log("🐦" * 500, 1)
    found = run.get_metrics()
    assert [repr(value) for value in found["odd"]] == [repr(value) for value in odd]
    assert math.isnan(found["alone"]) and math.isnan(found["table"]["x"][0])
    assert found["row"] == {"x": math.inf, "ü": "é"}
    assert found["table"]["\t"] == [None, True]
    assert (found[" "], found["🐦" * 500]) == ("blank", 1)
