"""The run of the TensorFlow article on one node, its dataset mounted: python examples/mnist/submit.py

The article takes MNIST from a host that is gone; files of the same form, with ten noisy patterns, are made here.
"""

import tempfile
from pathlib import Path

from stand_in import write_all

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

ws = Workspace.from_config()
with tempfile.TemporaryDirectory() as name:
    write_all(name)
    store = ws.get_default_datastore()
    store.upload(name, target_path="mnist", overwrite=True, show_progress=False)
dataset = Dataset.File.from_files(path=(store, "mnist")).register(
    workspace=ws, name="mnist-dataset", description="training and test dataset", create_new_version=True
)
print(dataset.to_path())

env = Environment("tensorflow-mnist")  # the article: Environment.get(workspace=ws, name="AzureML-TensorFlow-2.2-GPU")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["tensorflow-cpu==2.21.0"])
args = ["--data-folder", dataset.as_mount()]
args += ["--batch-size", 64, "--first-layer-neurons", 256, "--second-layer-neurons", 128, "--learning-rate", 0.01]
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="tf_mnist.py",
    arguments=args,
    compute_target="local",
    environment=env,
)
run = Experiment(ws, name="tf-mnist").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
print(run.get_file_names())
