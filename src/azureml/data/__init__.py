"""`azureml.data`: datasets, and what runs are given and leave of them."""

from azureml._lending import SDK_VERSION, leave_out, lend

__version__ = SDK_VERSION

lend(
    globals(),
    DataType="DataType",
    FileDataset="FileDataset",
    TabularDataset="TabularDataset",
    OutputFileDatasetConfig="OutputFileDatasetConfig",
    OutputTabularDatasetConfig="OutputTabularDatasetConfig",
)
leave_out(globals(), "LinkTabularOutputDatasetConfig")
