"""`azureml.exceptions`: the exceptions that scripts catch."""

from azureml._lending import SDK_VERSION, lend
from roost_job.exceptions import (
    ActivityFailedException,
    AuthenticationException,
    AzureMLAggregatedException,
    AzureMLException,
    ComputeTargetException,
    DatasetTimestampMissingError,
    DiscoveryUrlNotFoundException,
    ExperimentExecutionException,
    ModelNotFoundException,
    ModelPathNotFoundException,
    ParallelRunException,
    ProjectSystemException,
    RunConfigurationException,
    RunEnvironmentException,
    ServiceException,
    SnapshotException,
    TrainingException,
    UserErrorException,
    WebserviceException,
    WorkspaceException,
    WorkspacePrivateEndpointException,
)

__version__ = SDK_VERSION

lend(globals())
