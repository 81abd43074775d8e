"""Horovod with PyTorch: gradients are averaged over all ranks. Written for the Pythons of its years too."""

import os

import horovod.torch as hvd
import torch
from digits import accuracy, digits, network

from azureml.core import Run

hvd.init()
torch.set_num_threads(1)
torch.manual_seed(hvd.rank())
model = network()
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters()
)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
images, labels = digits(1024, seed=hvd.rank() + 1)
for epoch in range(3):
    for batch in range(0, len(images), 64):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[batch : batch + 64]), labels[batch : batch + 64])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

weights = torch.cat([each.detach().flatten() for each in model.parameters()])
everyone = hvd.allgather(weights.unsqueeze(0))
same = sum(int(torch.equal(weights, each)) for each in everyone)
run = Run.get_context()
run.log(f"same_on_rank_{hvd.rank()}", same)
print(f"rank {hvd.rank()} of {hvd.size()}: {same} ranks have these weights")
if hvd.rank() == 0:
    run.log("accuracy", accuracy(model))
    os.makedirs("outputs", exist_ok=True)
    torch.save(model.state_dict(), "outputs/model.pt")
