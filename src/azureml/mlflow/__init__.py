"""`azureml.mlflow`: on its way; each name says so when it is used."""

from azureml._lending import announce, lend

lend(globals())
announce(globals(), "get_portal_url", "register_model")
