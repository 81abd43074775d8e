"""`azureml.contrib.services.aml_request`."""

from azureml._lending import lend
from roost_job.scoring.rawhttp import AMLRequest, rawhttp

lend(globals())
