"""The workspace that commands work in."""

from roost.cli import global_options
from roost.domain.workspaces import DEFAULT_WORKSPACE
from roost.sdk.connection.connections import named_url
from roost.sdk.core import configs
from roost.sdk.core.workspaces import Workspace

_SALVAGE_SECONDS = 30.0


def workspace() -> Workspace:
    """The workspace that was chosen, else the one that the configuration file of this folder names, else the default one."""
    chosen = global_options.workspace
    in_folder = configs.find(None, None) if chosen is None else None
    found = Workspace.from_config() if in_folder else Workspace.get(chosen or DEFAULT_WORKSPACE)
    salvaging = found._connection.salvaging
    if salvaging is not None:
        salvaging.join(_SALVAGE_SECONDS)  # so that what is shown has what a killed process left
    return found


def command(ws: Workspace) -> str:
    """How commands in this folder are typed for a workspace: `roost`, with the workspace where it was chosen."""
    return f"roost --workspace {ws.name}" if global_options.workspace is not None else "roost"


def is_elsewhere() -> bool:
    """Whether the control plane is the one of ROOST_URL, not this machine's own."""
    return bool(named_url())
