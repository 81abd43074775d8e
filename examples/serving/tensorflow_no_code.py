"""A TensorFlow model, trained in a run and deployed with nothing else: python examples/serving/tensorflow_no_code.py"""

import json
import tempfile
from pathlib import Path

from training import SCRIPTS, expected_of, largest_difference

from azureml.core import Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.resource_configuration import ResourceConfiguration

ws = Workspace.from_config()
tf_env = Environment("tensorflow-serving")
tf_env.python.conda_dependencies = CondaDependencies.create(
    pip_packages=["azureml-defaults", "tensorflow-cpu==2.21.0"], python_version="3.11"
)
src = ScriptRunConfig(
    source_directory=SCRIPTS,
    script="tf_mnist.py",
    arguments=[
        "--batch-size",
        64,
        "--first-layer-neurons",
        256,
        "--second-layer-neurons",
        128,
        "--learning-rate",
        0.01,
    ],
    environment=tf_env,
)
run = Experiment(workspace=ws, name="tf-mnist").submit(src)
run.wait_for_completion(show_output=True)

model = run.register_model(
    model_name="tf-mnist",
    model_path="outputs/model",
    model_framework=Model.Framework.TENSORFLOW,
    model_framework_version="2.0",
    resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
)
with tempfile.TemporaryDirectory() as folder:
    run.download_files(prefix="outputs/model", output_directory=folder, append_prefix=False)
    print("Downloaded:", sorted(path.name for path in Path(folder).iterdir()))
expected = expected_of(run)

service = Model.deploy(ws, "tensorflow-web-service", [model])
service.wait_for_deployment(show_output=True)
answer = service.run(json.dumps({"instances": expected["images"]}))
apart = largest_difference(answer["predictions"], expected["predictions"])
print(f"The service and the run differ by {apart:.2g} at most.")
service.delete()
