"""`azureml.train.dnn`: on its way; each name says so when it is used."""

from azureml._lending import announce, lend

lend(globals())
announce(globals(), "Chainer", "Gloo", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow")
