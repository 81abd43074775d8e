"""`azureml.core.compute_target`: ComputeTarget, and the exception for one that is missing or refused."""

from azureml._lending import lend
from roost_job.exceptions import ComputeTargetException

lend(globals(), ComputeTarget="ComputeTarget")
