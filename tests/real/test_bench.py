"""The benchmarks run from end to end with their peers, with small sizes: the figures are worth nothing, the harness is proven."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.real, pytest.mark.timeout(1700)]


def test_every_benchmark_runs_beside_its_peers(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "bench", "--small", "--rounds", "1", "--json", "--folder", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    told = json.loads(done.stdout)
    assert told["failed"] == []
    assert done.returncode == 0
    peers = {line["against"] for line in told["lines"] if line["peer"] is not None}
    assert {"MLflow log_metric", "MLflow log_batch", "Ray job", "mlflow run", "MLflow", "cp", "bare os.write"} <= peers
    assert {"mlflow models serve", "bare uvicorn"} <= peers
    assert [line["what"] for line in told["lines"] if line["against"] and line["peer"] is None] == []
