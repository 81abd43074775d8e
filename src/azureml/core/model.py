"""`azureml.core.model`: Model; InferenceConfig is on its way, and says so when it is used."""

from azureml._lending import announce, lend

lend(globals(), Model="Model")
announce(globals(), "InferenceConfig")
