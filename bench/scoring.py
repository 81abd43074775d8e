"""Scoring a small model, deployed as a person deploys it, beside `mlflow models serve` and a bare uvicorn endpoint of it.

All three run the model in the peers' Python; one replica of ours, one process of theirs. They are asked in turn, round by round.
"""

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench import http_load as loads
from bench.http_load import Load
from bench.peer_scoring import ROWS
from bench.peers import HERE, await_answer, free_port, process
from bench.setting import Setting
from bench.table import Line, beside, faster_than, median
from roost import AciWebservice, Environment, InferenceConfig, Model, Webservice, Workspace

CONNECTIONS = 32
KINDS = {"sklearn": "scikit-learn", "onnx": "ONNX"}
SCRIPT = """
import json, os, sys
sys.path.append({bench!r})
from peer_scoring import predictor

def init():
    global predict
    predict = predictor(os.environ["AZUREML_MODEL_DIR"], {kind!r})

def run(data):
    return predict(json.loads(data)["data"])
"""
TRIVIAL = "def init(): pass\ndef run(data): return data\n"
_names = (f"bench-{number}" for number in itertools.count())


def measure(bench: Setting) -> list[Line]:
    lines = []
    if bench.peers.python:
        models = bench.folder / "models"
        models.mkdir()
        subprocess.run(
            [*bench.peers.command("peer_scoring.py"), "make", str(models)], check=True, stderr=subprocess.DEVNULL
        )
        for kind in KINDS:
            lines += _kind(bench, models, kind)
    return [*lines, _first_answer(bench)]


def _kind(bench: Setting, models: Path, kind: str) -> list[Line]:
    """Requests a second and p99 of one kind of model."""
    seconds = bench.size(4, 1)
    ours_body, mlflow_body = f'{{"data": {ROWS}}}', f'{{"inputs": {ROWS}}}'
    got: dict[str, list[Load]] = {"ours": [], "uvicorn": [], "MLflow": []}
    with ExitStack() as stack:
        service = stack.enter_context(deployed(bench, models, kind))
        ports = {
            "ours": (urlsplit(service.scoring_uri).port or 0, "/score", ours_body),
            "uvicorn": (stack.enter_context(uvicorn(bench, models, kind)), "/score", ours_body),
            "MLflow": (stack.enter_context(mlflow(bench, models, kind)), "/invocations", mlflow_body),
        }
        for round_ in range(1 + bench.rounds):
            for who, (port, path, body) in ports.items():
                found = loads.load(port, path, body, connections=CONNECTIONS, seconds=seconds if round_ else 1)
                if round_:  # the first one warms up
                    got[who].append(found)
    rate = {who: statistics.median(each.per_second for each in each_of) for who, each_of in got.items()}
    late = {who: statistics.median(each.p99 for each in each_of) * 1000 for who, each_of in got.items()}
    what = f"scoring {KINDS[kind]}, {CONNECTIONS} connections"
    by = f"asked by {Path(loads.program()).name or 'a loop of our own'}"
    return [
        faster_than(f"{what}: requests", rate["ours"], "/s", "mlflow models serve", rate["MLflow"], 5, by),
        faster_than(f"{what}: requests", rate["ours"], "/s", "bare uvicorn", rate["uvicorn"], 0.6, by),
        beside(f"{what}: p99", late["ours"], "ms", "mlflow models serve", late["MLflow"]),
        beside(f"{what}: p99", late["ours"], "ms", "bare uvicorn", late["uvicorn"]),
    ]


@contextmanager
def deployed(bench: Setting, models: Path, kind: str) -> Iterator[Webservice]:
    """Ours, by the SDK."""
    workspace = bench.experiment.workspace
    source = bench.folder / f"source-{kind}"
    source.mkdir(exist_ok=True)
    (source / "score.py").write_text(SCRIPT.format(bench=str(HERE), kind=kind))
    file = models / {"sklearn": "sklearn.pkl", "onnx": "model.onnx"}[kind]
    model = Model.register(workspace, model_path=str(file), model_name=f"bench-{kind}")
    service = deploy(workspace, [model], source, bench.peers.python)
    try:
        yield service
    finally:
        service.delete()


def deploy(workspace: Workspace, models: list[Model], source: Path, python: str) -> Webservice:
    """A service with one replica, without a key as its peers are; returns when it is healthy."""
    environment = Environment("bench")
    environment.python.user_managed_dependencies, environment.python.interpreter_path = True, python
    code = InferenceConfig(entry_script="score.py", source_directory=str(source), environment=environment)
    limits = AciWebservice.deploy_configuration(cpu_cores=1, memory_gb=2)
    service: Webservice = Model.deploy(workspace, next(_names), models, code, limits)
    service.wait_for_deployment()
    return service


@contextmanager
def uvicorn(bench: Setting, models: Path, kind: str) -> Iterator[int]:
    port = free_port()
    log = bench.folder / f"uvicorn-{kind}.log"
    with process([*bench.peers.command("peer_scoring.py"), "uvicorn", str(models), kind, str(port)], log):
        await_answer(f"http://127.0.0.1:{port}/", 60, log)
        yield port


@contextmanager
def mlflow(bench: Setting, models: Path, kind: str) -> Iterator[int]:
    """As its documentation starts one, in the environment that is there."""
    port = free_port()
    log = bench.folder / f"mlflow-{kind}.log"
    program = bench.folder / "bin" / "uvicorn"  # it starts that by name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {bench.peers.python} -m uvicorn "$@"\n')
    program.chmod(0o755)
    path = f"PATH={program.parent}:{os.environ['PATH']}"
    argv = ["env", path, bench.peers.python, "-m", "mlflow", "models", "serve", "-m", str(models / f"mlflow-{kind}")]
    argv += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    with process(argv, log):
        await_answer(f"http://127.0.0.1:{port}/ping", 180, log)
        yield port


def _first_answer(bench: Setting) -> Line:
    """Seconds from `Model.deploy` to an answer, of a script that loads nothing."""
    workspace = bench.experiment.workspace
    source = bench.folder / "source-trivial"
    source.mkdir()
    (source / "score.py").write_text(TRIVIAL)

    def once() -> float:
        begun = time.perf_counter()
        service = deploy(workspace, [], source, sys.executable)
        assert service.run("1") == "1"
        took = time.perf_counter() - begun
        service.delete()
        return took

    once()  # the control plane's own first time
    return Line(
        what="deploy to first answer", ours=median(bench.rounds, once), unit="s", budget=2.0, note="nothing to load"
    )
