"""`azureml.monitoring`: ModelDataCollector, in scoring scripts."""

from azureml._lending import lend
from roost_job.monitoring import ModelDataCollector

lend(globals())
