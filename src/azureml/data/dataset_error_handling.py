"""`azureml.data.dataset_error_handling`: data that cannot be read is the caller's mistake here, whatever is wrong with it."""

from azureml._lending import lend
from roost_job.exceptions import UserErrorException

DatasetValidationError = DatasetExecutionError = UserErrorException

lend(globals())
__all__ = ["DatasetExecutionError", "DatasetValidationError"]
