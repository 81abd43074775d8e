"""A PyTorch model behind an entry script: python examples/serving/pytorch_entry_script.py"""

import json

from training import SCRIPTS, expected_of, largest_difference, torch_environment, train

from azureml.core import Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import LocalWebservice

ws = Workspace.from_config()
run = train(ws)
model = run.register_model(model_name="pytorch-weights", model_path="outputs/model.pt")
expected = expected_of(run)

inference = InferenceConfig(entry_script="score.py", source_directory=SCRIPTS, environment=torch_environment())
service = Model.deploy(ws, "pytorch-service", [model], inference, LocalWebservice.deploy_configuration())
service.wait_for_deployment(show_output=True)
answer = service.run(json.dumps({"data": expected["inputs"]}))
apart = largest_difference(answer, expected["scores"])
print(f"The service and the run differ by {apart:.2g} at most.")
service.delete()
