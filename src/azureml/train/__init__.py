"""`azureml.train`: estimators and sweeps, each in its own module."""

from azureml._lending import SDK_VERSION, lend

__version__ = SDK_VERSION

lend(globals())
