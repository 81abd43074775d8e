"""What the article on estimators imports: torch and horovod, there without being asked for."""

import horovod
import horovod.torch as hvd
import torch

from azureml.core import Run

hvd.init()
total = hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), op=hvd.Sum)
Run.get_context().log(f"total_on_rank_{hvd.rank()}", float(total[0]))
print(
    f"torch {torch.__version__}, horovod {horovod.__version__}: rank {hvd.rank()} of {hvd.size()} has {float(total[0])}"
)
