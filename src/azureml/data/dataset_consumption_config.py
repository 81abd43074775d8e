"""`azureml.data.dataset_consumption_config`: on its way; each name says so when it is used."""

from azureml._lending import announce, lend

lend(globals())
announce(globals(), "DatasetConsumptionConfig")
