"""The entry script of the PyTorch service: loads the weights once, answers rows with scores."""

import json
import os

import torch
from net import Net


def init():
    global net
    net = Net()
    net.load_state_dict(torch.load(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.pt")))
    net.eval()


def run(raw_data):
    rows = torch.tensor(json.loads(raw_data)["data"])
    with torch.no_grad():
        return net(rows).tolist()
