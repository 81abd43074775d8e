"""`azureml.core.webservice.aci`."""

from azureml._lending import lend

lend(
    globals(),
    AciWebservice="AciWebservice",
    AciServiceDeploymentConfiguration="AciServiceDeploymentConfiguration",
    ContainerResourceRequirements="ContainerResourceRequirements",
)
