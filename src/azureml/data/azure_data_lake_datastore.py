"""`azureml.data.azure_data_lake_datastore`: every kind of datastore is one class."""

from azureml._lending import lend

lend(globals(), AbstractADLSDatastore="Datastore", AzureDataLakeGen2Datastore="Datastore")
