"""`azureml.data`: datasets, and what runs are given and leave of them."""

from azureml._lending import announce, lend

lend(
    globals(),
    DataType="DataType",
    FileDataset="FileDataset",
    TabularDataset="TabularDataset",
    OutputFileDatasetConfig="OutputFileDatasetConfig",
    OutputTabularDatasetConfig="OutputTabularDatasetConfig",
)
announce(globals(), "LinkTabularOutputDatasetConfig")
