"""`azureml.core.dataset`: on its way; each name says so when it is used."""

from azureml._lending import announce, lend

lend(globals())
announce(globals(), "Dataset")
