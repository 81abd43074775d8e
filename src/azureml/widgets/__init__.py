"""`azureml.widgets`."""

from azureml._lending import SDK_VERSION, lend

__version__ = SDK_VERSION

lend(globals(), RunDetails="RunDetails")
