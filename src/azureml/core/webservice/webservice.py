"""`azureml.core.webservice.webservice`."""

from azureml._lending import lend
from roost_job.exceptions import WebserviceException

lend(
    globals(),
    Webservice="Webservice",
    WebserviceDeploymentConfiguration="WebserviceDeploymentConfiguration",
    AutoScaler="AutoScaler",
    ContainerResourceRequirements="ContainerResourceRequirements",
    DataCollection="DataCollection",
    LivenessProbeRequirements="LivenessProbeRequirements",
)
