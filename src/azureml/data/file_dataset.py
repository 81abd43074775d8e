"""`azureml.data.file_dataset`."""

from azureml._lending import lend

lend(globals(), FileDataset="FileDataset")
