"""The exceptions that training scripts catch, named as the Azure ML SDK v1 named them.

AzureMLException                     everything below; `.message` holds the text
├── UserErrorException               the caller's mistake: wrong type, wrong name, wrong file
│   ├── DatasetTimestampMissingError a step by time of a dataset whose time column is not set
│   └── RunEnvironmentException      there is no run here (`Run.get_context(allow_offline=False)`)
├── ExperimentExecutionException     a submission that could not be carried out
├── ActivityFailedException          `wait_for_completion` of a run that failed
├── ComputeTargetException
├── ModelPathNotFoundException
├── WebserviceException
│   └── ModelNotFoundException
├── ProjectSystemException
│   └── WorkspaceException           there is no such workspace
├── ServiceException                 the control plane could not be reached or refused
└── TrainingException

Exceptions of Azure's own services, which scripts name in `except` and nothing here raises: AuthenticationException,
AzureMLAggregatedException, DiscoveryUrlNotFoundException, ParallelRunException, RunConfigurationException, SnapshotException,
WorkspacePrivateEndpointException.
"""

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from typing import Any, Optional


class AzureMLException(Exception):
    """The root. `message` is the fact; `hint`, if any, the next step in Python; `cli_hint` the same step on the command line, if
    it differs."""

    def __init__(self, exception_message: str = "", hint: str = "", **kwargs: "Any") -> None:
        super(AzureMLException, self).__init__(exception_message)
        self.message = exception_message
        self.hint = hint
        self.cli_hint = str(kwargs.get("cli_hint") or "")
        self.inner_exception = kwargs.get("inner_exception")

    def __str__(self) -> str:
        return "%s\nhint: %s" % (self.message, self.hint) if self.hint else str(self.message)

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.message)


class UserErrorException(AzureMLException):
    """The caller's mistake."""


class DatasetTimestampMissingError(UserErrorException):
    """A dataset must be filtered by time, and its time column is not set."""


class RunEnvironmentException(UserErrorException):
    """There is no run in this process's environment."""


class ExperimentExecutionException(AzureMLException):
    """A submission could not be carried out, or waiting for it was interrupted."""


class ActivityFailedException(AzureMLException):
    """The awaited run has failed."""


class ComputeTargetException(AzureMLException):
    """A compute target is missing or refused."""


class ModelPathNotFoundException(AzureMLException):
    """The path to register does not exist among the run's files."""


class WebserviceException(AzureMLException):
    """A web service is missing or failed. `status_code` is that of its answer, if there was one."""

    status_code: "Optional[int]" = None


class ModelNotFoundException(WebserviceException):
    """There is no such model."""


class ProjectSystemException(AzureMLException):
    """A workspace or its configuration is missing or refused."""


class WorkspaceException(ProjectSystemException):
    """There is no such workspace."""


class ServiceException(AzureMLException):
    """The control plane could not be reached, or refused."""


class TrainingException(AzureMLException):
    """A training configuration is refused."""


class AuthenticationException(AzureMLException):
    """For Azure's logins; never raised here."""


class AzureMLAggregatedException(AzureMLException):
    """For several errors at once; never raised here."""


class DiscoveryUrlNotFoundException(AzureMLException):
    """For Azure's addresses; never raised here."""


class ParallelRunException(AzureMLException):
    """For parallel steps of pipelines; never raised here."""


class RunConfigurationException(UserErrorException):
    """For files of run configurations; never raised here."""


class SnapshotException(UserErrorException):
    """For Azure's limits on folders; never raised here."""


class WorkspacePrivateEndpointException(AzureMLException):
    """For Azure's private networks; never raised here."""
