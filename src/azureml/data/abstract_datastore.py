"""`azureml.data.abstract_datastore`: every kind of datastore is one class."""

from azureml._lending import lend

lend(globals(), AbstractDatastore="Datastore")
