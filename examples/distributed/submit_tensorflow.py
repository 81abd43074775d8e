"""MultiWorkerMirroredStrategy with two workers: python examples/distributed/submit_tensorflow.py"""

import os
from pathlib import Path

from cluster import find_or_create

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import TensorflowConfiguration

ws = Workspace.from_config()
env = Environment("tensorflow-workers")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["tensorflow-cpu==2.21.0"])
distr_config = TensorflowConfiguration(worker_count=2, parameter_server_count=0)
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="train.py",
    arguments=["--epochs", 3, "--model-dir", os.path.join("./outputs", "keras-model")],
    compute_target=find_or_create(ws),
    environment=env,
    distributed_job_config=distr_config,
)
run = Experiment(ws, "distributed").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
