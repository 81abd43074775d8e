"""`azureml.contrib.notebook`: notebooks as runs."""

from azureml._lending import lend

lend(
    globals(),
    AzureMLNotebookHandler="AzureMLNotebookHandler",
    NotebookRunConfig="NotebookRunConfig",
    PapermillExecutionHandler="PapermillExecutionHandler",
)
