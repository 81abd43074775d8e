"""`azureml.data.dataset_consumption_config`: a dataset as a run gets it."""

from azureml._lending import lend

lend(globals(), DatasetConsumptionConfig="DatasetConsumptionConfig")
