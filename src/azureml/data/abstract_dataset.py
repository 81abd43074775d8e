"""`azureml.data.abstract_dataset`."""

from azureml._lending import lend

lend(globals(), AbstractDataset="AbstractDataset")
