"""`azureml.core.webservice.aks`."""

from azureml._lending import lend

lend(
    globals(),
    AksWebservice="AksWebservice",
    AksEndpoint="AksEndpoint",
    AksServiceDeploymentConfiguration="AksServiceDeploymentConfiguration",
    AksEndpointDeploymentConfiguration="AksEndpointDeploymentConfiguration",
    AutoScaler="AutoScaler",
    ContainerResourceRequirements="ContainerResourceRequirements",
    DataCollection="DataCollection",
    LivenessProbeRequirements="LivenessProbeRequirements",
)
