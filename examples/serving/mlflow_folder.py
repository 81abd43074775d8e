"""MLflow model folders, written in a run and deployed with no code: python examples/serving/mlflow_folder.py"""

import json

from training import SCRIPTS, expected_of

from azureml.core import Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

ws = Workspace.from_config()
env = Environment("mlflow-serving")
env.python.conda_dependencies = CondaDependencies.create(
    pip_packages=["azureml-defaults", "scikit-learn==1.8.0", "pandas", "mlflow>=2"], python_version="3.11"
)
src = ScriptRunConfig(source_directory=SCRIPTS, script="sklearn_train.py", arguments=["--mlflow"], environment=env)
run = Experiment(workspace=ws, name="mlflow-serving").submit(src)
run.wait_for_completion(show_output=True)
expected = expected_of(run)
answers = {}

for name in ("flowers", "shares"):  # the first is scikit-learn's own, the second needs MLflow
    model = run.register_model(model_name=f"mlflow-{name}", model_path=f"outputs/{name}")
    service = Model.deploy(ws, f"mlflow-{name}", [model])
    service.wait_for_deployment(show_output=True)
    answers[name] = service.run(json.dumps({"dataframe_records": expected["rows"]}))["predictions"]
    print(f"{name}: {answers[name][:2]}")
    service.delete()
