"""`azureml.core.datastore`."""

from azureml._lending import lend

lend(globals(), Datastore="Datastore")
