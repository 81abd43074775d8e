"""`azureml.train.dnn`: estimators of deep learning, and what distributes them."""

from azureml._lending import lend

lend(
    globals(),
    PyTorch="PyTorch",
    TensorFlow="TensorFlow",
    Chainer="Chainer",
    Mpi="Mpi",
    Gloo="Gloo",
    Nccl="Nccl",
    ParameterServer="ParameterServer",
)
