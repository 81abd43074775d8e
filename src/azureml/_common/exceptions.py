"""`azureml._common.exceptions`: the root of the exceptions."""

from azureml._lending import lend
from roost_job.exceptions import AzureMLException

lend(globals())
