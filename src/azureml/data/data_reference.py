"""`azureml.data.data_reference`: the older way to give a run data."""

from azureml._lending import lend

lend(globals(), DataReference="DataReference")
