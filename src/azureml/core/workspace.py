"""`azureml.core.workspace`."""

from azureml._lending import lend

lend(globals(), Workspace="Workspace")
