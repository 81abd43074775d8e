"""`azureml.contrib.services`: raw HTTP in scoring scripts."""

from azureml._lending import lend

lend(globals())
