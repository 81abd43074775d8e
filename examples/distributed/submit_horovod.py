"""Horovod with PyTorch on two nodes, in a curated environment: python examples/distributed/submit_horovod.py

Horovod is compiled on the first use, which takes minutes and needs `apt install libopenmpi-dev openmpi-bin g++`.
"""

from pathlib import Path

from cluster import find_or_create

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.runconfig import MpiConfiguration

ws = Workspace.from_config()
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="pytorch_horovod_mnist.py",
    compute_target=find_or_create(ws),
    environment=Environment.get(workspace=ws, name="AzureML-PyTorch-1.6-GPU"),
    distributed_job_config=MpiConfiguration(node_count=2),
)
run = Experiment(ws, "distributed").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
