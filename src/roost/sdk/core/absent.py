"""What scripts of the Azure ML SDK v1 ask for and Roost does not have: it says so, in the words of `roost_job.absent`."""

from typing import NoReturn

from roost.domain.errors import InvalidInput, RoostError
from roost_job import absent


def refuse(path: str, kind: type[RoostError] = InvalidInput) -> NoReturn:
    """For a name of the list, by its whole path."""
    fact, hint = absent.said(path)
    raise kind(fact, hint=hint)


class AbsentOfWorkspace:
    """Of a workspace: its address for MLflow."""

    def get_mlflow_tracking_uri(self) -> NoReturn:
        refuse("azureml.core.Workspace.get_mlflow_tracking_uri")
