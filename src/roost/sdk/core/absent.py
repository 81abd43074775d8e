"""Features of the Azure ML SDK v1 that Roost does not have: errors with the texts of `roost_job.absent`."""

from collections.abc import Iterable
from typing import NoReturn

from roost.domain.errors import InvalidInput, RoostError
from roost_job import absent


def refuse(path: str, kind: type[RoostError] = InvalidInput) -> NoReturn:
    """Raises the error for a name of the list, by its full path."""
    fact, hint = absent.said(path)
    raise kind(fact, hint=hint)


def missing(path: str, there: Iterable[str]) -> str:
    """The message for a missing attribute of a class: the alternative for a name on the list, else similar names."""
    if absent.find(path):
        return "\nhint: ".join(absent.said(path))
    owner, _, name = path.rpartition(".")
    return absent.unknown(name, owner.rpartition(".")[2], there)


class AbsentOfWorkspace:
    """The part of a workspace for its MLflow address."""

    def get_mlflow_tracking_uri(self) -> NoReturn:
        refuse("azureml.core.Workspace.get_mlflow_tracking_uri")
