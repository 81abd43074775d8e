"""What scripts of the Azure ML SDK v1 ask for and Roost does not have: it says so, in the words of `roost_job.absent`."""

from collections.abc import Iterable
from typing import NoReturn

from roost.domain.errors import InvalidInput, RoostError
from roost_job import absent


def refuse(path: str, kind: type[RoostError] = InvalidInput) -> NoReturn:
    """For a name of the list, by its whole path."""
    fact, hint = absent.said(path)
    raise kind(fact, hint=hint)


def missing(path: str, there: Iterable[str]) -> str:
    """The words about an attribute of a class that is not there: of one on the list what to do instead, else what was meant."""
    if absent.find(path):
        return "\nhint: ".join(absent.said(path))
    owner, _, name = path.rpartition(".")
    return absent.unknown(name, owner.rpartition(".")[2], there)


class AbsentOfWorkspace:
    """Of a workspace: its address for MLflow."""

    def get_mlflow_tracking_uri(self) -> NoReturn:
        refuse("azureml.core.Workspace.get_mlflow_tracking_uri")
