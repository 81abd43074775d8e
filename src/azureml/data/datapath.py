"""`azureml.data.datapath`."""

from azureml._lending import lend

lend(globals(), DataPath="DataPath", DataPathComputeBinding="DataPathComputeBinding")
