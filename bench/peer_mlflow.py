"""What MLflow does in the same case, with its own client. Run by the peers' Python: `peer_mlflow.py URL DEED …` prints JSON."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient

URL = sys.argv[1]
client = MlflowClient(tracking_uri=URL)


def new_run() -> str:
    name = "bench"
    experiment = client.get_experiment_by_name(name)
    number = experiment.experiment_id if experiment else client.create_experiment(name)
    return client.create_run(number).info.run_id


def log_sync(count: str) -> dict[str, float]:
    """Seconds a call of log_metric, which returns when the server has it."""
    run = new_run()
    client.log_metric(run, "warm", 0.0)
    begun = time.perf_counter()
    for step in range(int(count)):
        client.log_metric(run, "loss", 1.0 / (step + 1), step=step)
    return {"seconds": (time.perf_counter() - begun) / int(count)}


def log_batch(count: str) -> dict[str, float]:
    """Metrics a second with batches of 1,000, until the last one is readable."""
    run = new_run()
    now = int(time.time() * 1000)
    begun = time.perf_counter()
    for start in range(0, int(count), 1000):
        client.log_batch(run, metrics=[Metric("loss", float(i), now, i) for i in range(start, start + 1000)])
    while client.get_run(run).data.metrics.get("loss") != float(int(count) - 1):
        time.sleep(0.005)
    return {"per_second": int(count) / (time.perf_counter() - begun)}


def read(count: str) -> dict[str, float]:
    """Seconds to read the history of one metric of so many points."""
    run = new_run()
    now = int(time.time() * 1000)
    for start in range(0, int(count), 1000):
        client.log_batch(run, metrics=[Metric("loss", float(i), now, i) for i in range(start, start + 1000)])
    begun = time.perf_counter()
    found = len(client.get_metric_history(run, "loss"))
    assert found == int(count), found
    return {"seconds": time.perf_counter() - begun}


def artefact(path: str) -> dict[str, float]:
    """Seconds to upload a file or folder, and to download it again."""
    run = new_run()
    begun = time.perf_counter()
    if os.path.isdir(path):
        client.log_artifacts(run, path, "kept")
    else:
        client.log_artifact(run, path, "kept")
    up = time.perf_counter() - begun
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as target:
        begun = time.perf_counter()
        client.download_artifacts(run, "kept", target)
        return {"up": up, "down": time.perf_counter() - begun}


def project(rounds: str) -> dict[str, list[float]]:
    """Seconds of `mlflow run` of a script that writes one file and keeps it, with no environment to make."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "MLproject").write_text("name: noop\nentry_points:\n  main:\n    command: python train.py\n")
        Path(folder, "train.py").write_text(
            "import mlflow\nopen('result.txt', 'w').write('kept')\nmlflow.log_artifact('result.txt')\n"
        )
        environment = {
            **os.environ,
            "MLFLOW_TRACKING_URI": URL,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        seconds = []
        for _ in range(int(rounds)):
            begun = time.perf_counter()
            argv = [
                sys.executable,
                "-m",
                "mlflow",
                "run",
                folder,
                "--env-manager",
                "local",
                "--experiment-name",
                "bench",
            ]
            subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - begun)
    shutil.rmtree(folder, ignore_errors=True)
    return {"seconds": seconds}


DEEDS: dict[str, Callable[..., object]] = {
    deed.__name__: deed for deed in (log_sync, log_batch, read, artefact, project)
}

if __name__ == "__main__":
    mlflow.set_tracking_uri(URL)
    print(json.dumps(DEEDS[sys.argv[2]](*sys.argv[3:])))
