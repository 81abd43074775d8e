"""`azureml.core.resource_configuration`."""

from azureml._lending import lend

lend(globals(), ResourceConfiguration="ResourceConfiguration")
