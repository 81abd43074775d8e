"""`azureml.train`: estimators and sweeps, each in its own module."""

from azureml._lending import lend

lend(globals())
