"""What may be logged: the rules that real and offline runs share."""

import enum
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.roost_job import spools

from roost_job.context import Job
from roost_job.exceptions import UserErrorException
from roost_job.run import Run
from roost_job.tracking.offline import _OfflineRun


class Level(enum.IntEnum):
    HIGH = 3


class EagerTensor:
    """As TensorFlow's: no `.item()`, but `.numpy()`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def numpy(self) -> Any:
        return np.asarray(self.value)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    job = Job("train_1_1a2b3c4d", str(tmp_path), "", 0, "train", "vision", "", "")
    return Run._for_job(job)


@pytest.fixture(params=["real", "offline"])
def either(request: pytest.FixtureRequest, run: Run) -> Run | _OfflineRun:
    return run if request.param == "real" else _OfflineRun()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, 0.5),
        (3, 3),
        (True, True),
        (False, False),
        ("text", "text"),
        ("", ""),
        (None, None),
        (Decimal("1.25"), 1.25),
        (Fraction(1, 4), 0.25),
        (Level.HIGH, 3),
        (2**64, float(2**64)),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.array(2.5), 2.5),
        (np.array([4]), 4),
        (EagerTensor(1.5), 1.5),
    ],
)
def test_scalars(run: Run, tmp_path: Path, value: object, shown: object) -> None:
    run.log("m", value)
    found = spools.shown(tmp_path)["m"]
    assert found == shown and type(found) is type(shown)


def generator() -> Iterator[int]:
    yield 1


BAD_SCALARS = [
    [1, 2],
    [],
    (1,),
    range(3),
    generator(),
    {"x": 1},
    {1},
    b"bytes",
    1j,
    object(),
    np.array([1, 2]),
    10**400,
]


@pytest.mark.parametrize("value", BAD_SCALARS, ids=lambda value: type(value).__name__)
def test_log_refuses_what_is_not_one_value(either: Run | _OfflineRun, tmp_path: Path, value: object) -> None:
    with pytest.raises(UserErrorException):
        either.log("m", value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.log("", 1),
        lambda run: run.log(None, 1),
        lambda run: run.log("x" * 1025, 1),
        lambda run: run.log("m", 1, step="one"),
        lambda run: run.log("m", 1, step=0.5),
        lambda run: run.log_list("m", 5),
        lambda run: run.log_list("m", "text"),
        lambda run: run.log_list("m", {"x": 1}),
        lambda run: run.log_list("m", [[1], [2]]),
        lambda run: run.log_list("", [1]),
        lambda run: run.log_row("m"),
        lambda run: run.log_row("m", x=[1, 2]),
        lambda run: run.log_table("m", [1, 2]),
        lambda run: run.log_table("m", {"x": [1, 2], "y": [1]}),
        lambda run: run.log_table("m", {"x": [[1]]}),
        lambda run: run.log_table("m", {3: [1]}),
        lambda run: run.log_image("m"),
        lambda run: run.log_image("m", path="a.png", plot=object()),
        lambda run: run.log_image("m", path="not-there.png"),
        lambda run: run.log_image("m", plot=object()),
        lambda run: run.upload_file("", "x"),
        lambda run: run.upload_file("a", "not-there"),
        lambda run: run.upload_file("a", "/"),
        lambda run: run.upload_file("a", 7),
        lambda run: run.upload_file("a", "x", datastore_name="lake"),
        lambda run: run.upload_files(["a", "b"], ["x"]),
        lambda run: run.upload_files("a", "x"),
        lambda run: run.upload_folder("a", "not-there"),
        lambda run: run.set_tags(["a"]),
        lambda run: run.tag(""),
        lambda run: run.tag(3, "x"),
        lambda run: run.add_properties("a"),
    ],
)
def test_misuse_is_refused_alike_in_a_job_and_offline(
    either: Run | _OfflineRun, tmp_path: Path, call: Callable[[Any], None]
) -> None:
    with pytest.raises(UserErrorException):
        call(either)
    assert list(tmp_path.iterdir()) == []


def test_lists(run: Run, tmp_path: Path) -> None:
    run.log_list("one", [7])
    run.log_list("none", [])
    run.log_list("several", (1, 2.5, "x", None, True))
    run.log_list("array", np.arange(3))
    run.log_list("range", range(2))
    run.log_list("generator", generator())
    run.log_list("twice", [1, 2])
    run.log_list("twice", [3])
    assert spools.shown(tmp_path) == {
        "one": 7,
        "several": [1, 2.5, "x", None, True],
        "array": [0, 1, 2],
        "range": [0, 1],
        "generator": 1,
        "twice": [1, 2, 3],
    }


def test_rows_and_tables(run: Run, tmp_path: Path) -> None:
    run.log_row("once", x=1)
    run.log_row("rows", x=1, y=np.float32(0.5))
    run.log_row("rows", x=2, y=0.75)
    run.log_table("table", {"x": [1, 2, 3], "y": np.array([0.5, 0.25, 0.125])})
    run.log_table("cells", {"x": 1, "y": "text"})
    run.log_table("empty", {})
    assert spools.shown(tmp_path) == {
        "once": {"x": 1},
        "rows": {"x": [1, 2], "y": [0.5, 0.75]},
        "table": {"x": [1, 2, 3], "y": [0.5, 0.25, 0.125]},
        "cells": {"x": 1, "y": "text"},
    }


def test_steps_may_be_numpy_and_whole_floats(run: Run, tmp_path: Path) -> None:
    for step in (np.int32(1), 2.0, True):
        run.log("m", 1.0, step=step)  # type: ignore[arg-type]
        run.log("t", "x", step=step)  # type: ignore[arg-type]
    found = spools.logged(tmp_path)
    assert [point.step for point in found["m"]] == [point.step for point in found["t"]] == [1, 2, 1]


def test_unicode_names(run: Run, tmp_path: Path) -> None:
    given = ["größe", "损失", "🦉", "a b/c", "x" * 1024, "\ud800"]
    for name in given:
        run.log(name, 1)
    assert list(spools.values(tmp_path)) == [*given[:-1], "\ufffd\ufffd\ufffd"]
