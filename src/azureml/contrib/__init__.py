"""`azureml.contrib`: import paths."""

from azureml._lending import lend

lend(globals())
