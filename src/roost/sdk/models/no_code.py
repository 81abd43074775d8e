"""A model deployed with no code: its handler, environment and limits.

The environment is that of the run that made the model, installed from its lock, when it contains the framework; else a curated
one by framework and version. An MLflow folder lists its own requirements. docs/decisions has the reasons.
"""

import sys
from typing import TYPE_CHECKING

from roost.domain import files, no_code
from roost.domain.endpoints import DEFAULT, Limits, Version
from roost.domain.models import Model
from roost.sdk.models import no_code_environments
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace


def version_for(workspace: "Workspace", model: Model, *, limits: Limits | None = None, name: str = DEFAULT) -> Version:
    """The version that serves this registered model as it is. `limits` are those of the deployment; None for those registered
    with the model. Raises InvalidEndpoint, before anything is deployed, with what to register instead."""
    paths = paths_of(workspace, model)
    handler = no_code.handler_for(model, paths)
    room = no_code_environments.choose(workspace, model, handler, paths)
    allowed, said = no_code.limits(model, handler, limits)
    for line in (*room.notes, *([said] if said else ())):
        print(f"{model.id}: {line}", file=sys.stderr)
    return Version(
        name=name,
        models=(model.id,),
        handler=handler,
        environment=room.environment,
        interpreter=room.interpreter,
        environment_variables={**no_code.threads(allowed.cpu, handler), **room.variables},
        limits=allowed,
    )


def paths_of(workspace: "Workspace", model: Model) -> list[str]:
    """The model's files, as its handler finds them in AZUREML_MODEL_DIR."""
    text = workspace._connection.client.fetch("GET", path_of("blobs", model.manifest)).body
    return [entry.path for entry in files.read_manifest(text) if entry.kind is not files.EntryKind.FOLDER]
