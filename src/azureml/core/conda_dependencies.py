"""`azureml.core.conda_dependencies`."""

from azureml._lending import lend

lend(globals(), CondaDependencies="CondaDependencies")
