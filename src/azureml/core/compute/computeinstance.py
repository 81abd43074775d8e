"""`azureml.core.compute.computeinstance`."""

from azureml._lending import lend

lend(globals(), ComputeInstance="ComputeInstance")
