"""`azureml.data.dataset_factory`."""

from azureml._lending import lend

lend(
    globals(),
    FileDatasetFactory="FileDatasetFactory",
    TabularDatasetFactory="TabularDatasetFactory",
    DataType="DataType",
    PromoteHeadersBehavior="PromoteHeadersBehavior",
    FileEncoding="FileEncoding",
)
