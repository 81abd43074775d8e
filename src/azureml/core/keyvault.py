"""`azureml.core.keyvault`."""

from azureml._lending import lend

lend(globals(), Keyvault="Keyvault")
