"""Every example as a person runs it: one command, judged by the numbers that it prints. The first time is a large download."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests import skips
from tests.real import caches
from tests.real.gloo import ABORTED
from tests.shared.interpreters import python

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is downloaded and compiled is kept for the next time."""
    caches.keep_builds(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def printed(name: str) -> tuple[dict[str, object], str]:
    """The metrics that an example prints, and all it said. One that Gloo aborted at its exit (`gloo.py`) is run again, once."""
    done = ran(name)
    if done.returncode and ABORTED in done.stdout + done.stderr:
        print(f"Gloo aborted a process of {name} at its exit; it is run again.")
        done = ran(name)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    found = [line for line in done.stdout.splitlines() if line.startswith("{'")]
    return ast.literal_eval(found[-1]), done.stdout


def ran(name: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=850, check=False
    )


def test_none_is_left_out() -> None:
    named = Path(__file__).read_text()
    there = [path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("submit*.py")]
    assert [name for name in there if f'"{name}"' not in named] == []


def test_birds() -> None:
    metrics, said = printed("birds/submit.py")
    best = metrics["best_val_acc"]
    assert isinstance(best, list)
    assert best[-1] > 0.9
    assert "outputs/model.pt" in said


def test_mnist() -> None:
    metrics, said = printed("mnist/submit.py")
    assert float(str(metrics["final_acc"])) > 0.9
    assert "/train-images-idx3-ubyte.gz" in said
    assert "outputs/model/saved_model.pb" in said


@pytest.mark.parametrize("name", ["distributed/submit_ddp.py", "distributed/submit_ddp_of_2020.py"])
def test_pytorch(name: str) -> None:
    assert float(str(printed(name)[0]["accuracy"])) > 0.9


def test_mpi4py() -> None:
    assert float(str(printed("distributed/submit_mpi4py.py")[0]["pi"])) == pytest.approx(3.14159265, abs=1e-6)


def test_horovod() -> None:
    python("3.6")
    skips.needs("mpi")
    assert float(str(printed("distributed/submit_horovod.py")[0]["accuracy"])) > 0.9


def test_tensorflow() -> None:
    metrics, _ = printed("distributed/submit_tensorflow.py")
    assert metrics["weights_of_worker_0"] == metrics["weights_of_worker_1"]
