"""`azureml.core.compute_target`: the exception for a compute target that is missing or refused."""

from azureml._lending import lend
from roost_job.exceptions import ComputeTargetException

lend(globals())
