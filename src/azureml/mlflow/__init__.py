"""`azureml.mlflow`: planned; each name says so when it is used."""

from azureml._lending import SDK_VERSION, leave_out, lend

__version__ = SDK_VERSION

lend(globals())
leave_out(globals(), "get_portal_url", "register_model")
