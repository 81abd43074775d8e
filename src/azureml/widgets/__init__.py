"""`azureml.widgets`."""

from azureml._lending import lend

lend(globals(), RunDetails="RunDetails")
