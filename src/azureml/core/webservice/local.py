"""`azureml.core.webservice.local`."""

from azureml._lending import lend

lend(
    globals(),
    LocalWebservice="LocalWebservice",
    LocalWebserviceDeploymentConfiguration="LocalWebserviceDeploymentConfiguration",
)
