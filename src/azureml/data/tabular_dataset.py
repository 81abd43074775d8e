"""`azureml.data.tabular_dataset`."""

from azureml._lending import lend

lend(globals(), TabularDataset="TabularDataset")
