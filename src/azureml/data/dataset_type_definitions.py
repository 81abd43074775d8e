"""`azureml.data.dataset_type_definitions`."""

from azureml._lending import lend

lend(
    globals(),
    FileEncoding="FileEncoding",
    FileHandlingOption="FileHandlingOption",
    PromoteHeadersBehavior="PromoteHeadersBehavior",
)
