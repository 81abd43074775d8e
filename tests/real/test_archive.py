"""An environment of 2020, kept while there is a network and repeated where there is none: in a network namespace without any
route, on a node whose caches and prefixes are gone. What builds fetch is kept in ROOST_TEST_CACHE; the archive fetches its own.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import skips
from tests.cli.commands import ROOST
from tests.cli.test_cli import roost
from tests.real import caches
from tests.real.test_environments import HOROVOD, PYTORCH, RANK, RANKS, TORCH_SCRIPT, submit
from tests.shared.interpreters import python

from roost import Experiment, Run, Workspace
from roost.sdk.runs import repeats

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

SMALL = """
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - numpy==1.19.5
  - pandas==1.1.5
  - scikit-learn==0.23.2
  - future==0.18.2
"""
SMALL_SCRIPT = """
import future, numpy, pandas, sklearn
from azureml.core import Run
from sklearn.linear_model import LinearRegression

run = Run.get_context()
model = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
run.log("slope", round(float(model.coef_[0]), 6))
run.log("versions", " ".join(each.__version__ for each in (numpy, pandas, sklearn, future)))
"""
# Loopback alone, and no way out: that is looked at before the command begins.
CLOSED = """
import errno, fcntl, os, socket, struct, sys
with socket.socket() as lo:
    fcntl.ioctl(lo, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
try:
    socket.create_connection(("192.0.2.1", 443), 5)
except OSError as error:
    assert error.errno == errno.ENETUNREACH, error
else:
    raise SystemExit("there is a way out")
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Before anything is started: what builds download and compile is kept for the next time."""
    python("3.6")
    skips.needs("root")
    skips.needs("namespaces")
    return caches.keep_builds(monkeypatch)


def closed(script: str, *words: str) -> None:
    """Runs a shell's script where there is no network."""
    command = ["unshare", "--net", sys.executable, "-c", CLOSED, "/bin/sh", "-ec", script, "sh", ROOST, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout, done.stderr)


REPEAT = """
"$1" run repeat "$2" --offline --json > again.json
"$1" run logs @latest --file system_logs/agent.log > agent.txt
"$1" run metrics @latest --json > metrics.json
"$1" down
"""


def repeat_closed(run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The metrics of the same run again, on a node that has nothing but the control plane's blobs."""
    lock = repeats.lock_of(run._connection, run.id)
    kept = run.get_environment().archive(Workspace())
    assert kept["complete"], kept["missing"]
    assert kept["python"].startswith("3.6.")
    print(f"kept {kept['files']} files, {kept['bytes'] / 1e6:.1f} MB")
    roost("down")
    for place in ("envs", "cache"):
        shutil.rmtree(home / place)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty-uv"))
    monkeypatch.setenv("ROOST_WHEEL_CACHE", str(tmp_path / "empty-wheels"))
    closed(REPEAT, run.id)
    assert json.loads(Path("again.json").read_text())["status"] == "Completed"
    assert [each.name for each in (home / "envs").glob("[0-9a-f]*")] == [lock]
    assert not list((tmp_path / "empty-wheels").glob("*"))
    assert "installed from what is kept of it, with no network." in Path("agent.txt").read_text()
    return Path("metrics.json").read_text()


def test_a_set_of_2020_where_there_is_no_network(
    experiment: Experiment, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit(experiment, tmp_path, SMALL, train_py=SMALL_SCRIPT)
    metrics = repeat_closed(run, home, tmp_path, monkeypatch)
    assert "1.19.5 1.1.5 0.23.2 0.18.2" in metrics, metrics


def test_pytorch_as_printed_where_there_is_no_network(
    experiment: Experiment, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit(experiment, tmp_path, PYTORCH, train_py=TORCH_SCRIPT)
    metrics = repeat_closed(run, home, tmp_path, monkeypatch)
    assert "1.6.0" in metrics, metrics


def test_horovod_where_there_is_no_network(
    experiment: Experiment, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Horovod, which was compiled here, is taken as it was compiled."""
    skips.needs("mpi")
    rank = RANK.format(framework="torch", module="horovod.torch", value="tensor")
    script = TORCH_SCRIPT + RANKS.format(module="horovod.torch")
    run = submit(experiment, tmp_path, PYTORCH + HOROVOD, train_py=script, rank_py=rank)
    metrics = repeat_closed(run, home, tmp_path, monkeypatch)
    assert "1.6.0" in metrics and "size" in metrics, metrics
