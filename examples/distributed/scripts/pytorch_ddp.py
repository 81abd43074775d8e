"""DistributedDataParallel by the variables that the platform sets: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT."""

import argparse
import os

import torch
import torch.distributed as dist
from digits import accuracy, digits, network
from torch.nn.parallel import DistributedDataParallel

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
args = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, size = dist.get_rank(), dist.get_world_size()
run = Run.get_context()

torch.manual_seed(rank)  # each begins with weights of its own: DDP makes them rank 0's
model = DistributedDataParallel(network())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
images, labels = digits(1024, seed=rank + 1)  # its own share of the data
for epoch in range(args.epochs):
    for batch in range(0, len(images), 64):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[batch : batch + 64]), labels[batch : batch + 64])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

weights = torch.cat([each.detach().flatten() for each in model.parameters()])
everyone = [torch.empty_like(weights) for _ in range(size)]
dist.all_gather(everyone, weights)
same = sum(torch.equal(weights, each) for each in everyone)
print(f"rank {rank} of {size} on node {os.environ['NODE_RANK']}: {same} ranks have these weights")
run.log(f"same_on_rank_{rank}", same)
if rank == 0:
    run.log("accuracy", accuracy(model.module))
    os.makedirs("outputs", exist_ok=True)
    torch.save(model.module.state_dict(), "outputs/model.pt")
dist.destroy_process_group()
