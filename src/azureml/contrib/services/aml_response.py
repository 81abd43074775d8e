"""`azureml.contrib.services.aml_response`."""

from azureml._lending import lend
from roost_job.scoring.rawhttp import AMLResponse

lend(globals())
