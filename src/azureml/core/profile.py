"""`azureml.core.profile`."""

from azureml._lending import lend

lend(globals(), ModelProfile="ModelProfile")
