"""`azureml.core.container_registry`."""

from azureml._lending import lend

lend(globals(), ContainerRegistry="ContainerRegistry")
