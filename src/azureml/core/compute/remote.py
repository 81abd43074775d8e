"""`azureml.core.compute.remote`."""

from azureml._lending import lend

lend(globals(), RemoteCompute="RemoteCompute")
