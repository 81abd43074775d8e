"""Exports the registered model of the articles, `pytorch-birds`, to ONNX, with what it gives for a few pictures beside it."""

import json
import os

import torch
from pytorch_train import network, pictures

from azureml.core import Model, Run

run = Run.get_context()
model = network()
model.load_state_dict(torch.load(Model.get_model_path("pytorch-birds", _workspace=run.experiment.workspace)))
model.eval()
images, _ = pictures(4, seed=3)
os.makedirs("outputs", exist_ok=True)
torch.onnx.export(
    model,
    images,
    "outputs/model.onnx",
    input_names=["images"],
    output_names=["scores"],
    dynamic_axes={"images": {0: "count"}, "scores": {0: "count"}},
)
with torch.no_grad(), open("outputs/expected.json", "w") as file:
    json.dump({"inputs": images.tolist(), "scores": model(images).tolist()}, file)
