"""The registered model that a command names."""

import typer

from roost.domain.models import parse_id
from roost.sdk.core.workspaces import Workspace
from roost.sdk.models.models import Model

MODEL = typer.Argument(help="A model: NAME for its newest version, or NAME:VERSION.", metavar="NAME[:VERSION]")


def find_model(ws: Workspace, name: str) -> Model:
    """The model that somebody typed; InvalidModel or ModelNotFound."""
    base, version = parse_id(name)
    return Model(ws, base, version=version)
