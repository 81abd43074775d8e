"""The run of the PyTorch articles on one node: python examples/birds/submit.py"""

from pathlib import Path

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

ws = Workspace.from_config()
env = Environment("pytorch-birds")  # the articles: Environment.get(workspace=ws, name="AzureML-PyTorch-1.6-GPU")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["torch==2.13.0", "numpy"])
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="pytorch_train.py",
    arguments=["--num_epochs", 10, "--output_dir", "./outputs"],
    compute_target="local",
    environment=env,
)
run = Experiment(ws, name="pytorch-birds").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
print(run.get_file_names())
