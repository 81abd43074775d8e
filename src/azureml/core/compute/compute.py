"""`azureml.core.compute.compute`."""

from azureml._lending import lend

lend(globals(), ComputeTarget="ComputeTarget")
