"""DistributedDataParallel on two nodes of two processes each: python examples/distributed/submit_ddp.py"""

from pathlib import Path

from cluster import find_or_create

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import PyTorchConfiguration

ws = Workspace.from_config()
env = Environment("pytorch-ddp")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["torch==2.13.0", "numpy"])
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="pytorch_ddp.py",
    arguments=["--epochs", 5],
    compute_target=find_or_create(ws),
    environment=env,
    distributed_job_config=PyTorchConfiguration(communication_backend="Gloo", process_count=4, node_count=2),
)
run = Experiment(ws, "distributed").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
