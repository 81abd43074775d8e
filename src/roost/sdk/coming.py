"""What scripts of the Azure ML SDK v1 ask for and Roost does not have yet: asked for, it says so. A name leaves this page when
its part is there."""

from typing import NoReturn

from roost.domain.errors import InvalidInput


def not_yet(what: str) -> NoReturn:
    raise InvalidInput(f"{what} is not in Roost yet.", hint="It is on its way; the README says what works today.")


class ComingOfWorkspace:
    """Of a workspace: its address for MLflow."""

    def get_mlflow_tracking_uri(self) -> NoReturn:
        not_yet("Workspace.get_mlflow_tracking_uri")
