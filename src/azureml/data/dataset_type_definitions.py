"""`azureml.data.dataset_type_definitions`."""

from azureml._lending import lend

lend(globals(), PromoteHeadersBehavior="PromoteHeadersBehavior", FileEncoding="FileEncoding")
