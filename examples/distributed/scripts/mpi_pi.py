"""π by MPI: each rank adds its share of the slices, and the first has the sum."""

import argparse

from mpi4py import MPI

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000000)
args = parser.parse_args()

world = MPI.COMM_WORLD
width = 1.0 / args.steps
share = sum(4.0 / (1.0 + (width * (step + 0.5)) ** 2) for step in range(world.rank, args.steps, world.size))
pi = world.allreduce(share * width)
print(f"rank {world.rank} of {world.size} on {MPI.Get_processor_name()}: {pi:.6f}")
run = Run.get_context()
run.log(f"ranks_seen_by_{world.rank}", world.allreduce(1))
if world.rank == 0:
    run.log("pi", pi)
