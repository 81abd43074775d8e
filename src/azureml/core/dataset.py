"""`azureml.core.dataset`."""

from azureml._lending import lend

lend(globals(), Dataset="Dataset")
