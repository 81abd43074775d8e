"""`azureml.data.azure_storage_datastore`: every kind of datastore is one class."""

from azureml._lending import lend

lend(
    globals(),
    AbstractAzureStorageDatastore="Datastore",
    AzureBlobDatastore="Datastore",
    AzureFileDatastore="Datastore",
)
