"""A small network, saved three ways: its weights (for an entry script), as TorchScript, and as ONNX."""

import json
import os

import torch
from net import Net

from azureml.core import Run

torch.manual_seed(0)
inputs = torch.randn(400, 4)
labels = (inputs.sum(dim=1) > 0).long()
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
run = Run.get_context()
for epoch in range(30):
    loss = torch.nn.functional.cross_entropy(net(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.log("loss", loss.item(), step=epoch)

net.eval()
sample = inputs[:5]
os.makedirs("outputs", exist_ok=True)
torch.save(net.state_dict(), "outputs/model.pt")
torch.jit.script(net).save("outputs/scripted.pt")
torch.onnx.export(
    net,
    (sample,),
    "outputs/model.onnx",
    input_names=["input"],
    output_names=["scores"],
    dynamic_shapes=({0: torch.export.Dim("rows")},),
    external_data=False,
)
with open("outputs/expected.json", "w") as file:
    json.dump({"inputs": sample.tolist(), "scores": net(sample).tolist()}, file)
