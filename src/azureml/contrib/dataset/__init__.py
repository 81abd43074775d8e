"""`azureml.contrib.dataset`: labelled data."""

from azureml._lending import lend

lend(
    globals(),
    Dataset="Dataset",
    FileHandlingOption="FileHandlingOption",
    LabeledDatasetTask="LabeledDatasetTask",
)
