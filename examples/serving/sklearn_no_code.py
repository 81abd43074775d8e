"""A scikit-learn model, trained in a run and deployed with no code: python examples/serving/sklearn_no_code.py"""

import json

from training import SCRIPTS, expected_of

from azureml.core import Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.resource_configuration import ResourceConfiguration

ws = Workspace.from_config()
env = Environment("sklearn-serving")
env.python.conda_dependencies = CondaDependencies.create(
    pip_packages=["azureml-defaults", "scikit-learn==1.8.0", "pandas"], python_version="3.11"
)
src = ScriptRunConfig(source_directory=SCRIPTS, script="sklearn_train.py", environment=env)
run = Experiment(workspace=ws, name="sklearn-serving").submit(src)
run.wait_for_completion(show_output=True)

model = run.register_model(
    model_name="flowers",
    model_path="outputs/model.pkl",
    model_framework=Model.Framework.SCIKITLEARN,
    model_framework_version="1.8.0",
    resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
)
expected = expected_of(run)
service = Model.deploy(ws, "flowers-service", [model])
service.wait_for_deployment(show_output=True)
answer = service.run(json.dumps({"data": expected["rows"], "method": "predict"}))
likely = service.run(json.dumps({"data": expected["rows"], "method": "predict_proba"}))
print("As in the run:", answer["predict"] == expected["predict"])
service.delete()
