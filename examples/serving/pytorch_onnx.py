"""A PyTorch model that its job exported to ONNX, deployed with no code; and one that Roost exports from TorchScript:
python examples/serving/pytorch_onnx.py"""

import json

from training import expected_of, largest_difference, train

from azureml.core import Model, Workspace

ws = Workspace.from_config()
run = train(ws)
expected = expected_of(run)
apart = {}

exported = run.register_model(
    model_name="pytorch-onnx", model_path="outputs/model.onnx", model_framework=Model.Framework.ONNX
)
scripted = run.register_model(
    model_name="pytorch-scripted",
    model_path="outputs/scripted.pt",
    model_framework=Model.Framework.PYTORCH,
    model_framework_version="2.13",
)
converted = scripted.to_onnx(sample_input=expected["inputs"])
print(f"{converted.id} was made from {converted.parent_id}.")

for name, model in {"exported": exported, "scripted": scripted, "converted": converted}.items():
    service = Model.deploy(ws, f"{name}-service", [model])
    service.wait_for_deployment(show_output=True)
    answer = service.run(json.dumps({"inputs": expected["inputs"]}))
    apart[name] = largest_difference(answer["outputs"], expected["scores"])
    print(f"{name}: the service and the run differ by {apart[name]:.2g} at most.")
    service.delete()
