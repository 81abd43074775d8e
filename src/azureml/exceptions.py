"""`azureml.exceptions`: the exceptions that scripts catch."""

from azureml._lending import lend
from roost_job.exceptions import (
    ActivityFailedException,
    AzureMLException,
    ComputeTargetException,
    ExperimentExecutionException,
    ModelNotFoundException,
    ModelPathNotFoundException,
    ProjectSystemException,
    RunEnvironmentException,
    ServiceException,
    TrainingException,
    UserErrorException,
    WebserviceException,
    WorkspaceException,
)

lend(globals())
