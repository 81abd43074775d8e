"""The script of the articles, small: it gets its rank and where to meet as arguments, and knows nothing of the platform."""

import argparse

import torch
import torch.distributed as dist
from digits import accuracy, digits, network
from torch.nn.parallel import DistributedDataParallel

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="nccl")
parser.add_argument("--dist-url", required=True)
parser.add_argument("--rank", type=int, required=True)
parser.add_argument("--world-size", type=int, required=True)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group(
    backend=args.dist_backend, init_method=args.dist_url, rank=args.rank, world_size=args.world_size
)
model = DistributedDataParallel(network())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
images, labels = digits(1024, seed=args.rank + 1)
for epoch in range(args.epochs):
    for batch in range(0, len(images), 64):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[batch : batch + 64]), labels[batch : batch + 64])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

total = torch.tensor([args.rank + 1.0])
dist.all_reduce(total)
run = Run.get_context()
run.log(f"sum_on_rank_{args.rank}", total.item())
if args.rank == 0:
    run.log("accuracy", accuracy(model.module))
dist.destroy_process_group()
