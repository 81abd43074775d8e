"""`Workspace`: where everything a person makes is found again. `from_config` reads Azure's own file, or needs none."""

# ruff: noqa: ARG002, ARG004
# The signatures are the Azure ML SDK v1's: some of their parameters mean nothing here, and are accepted all the same.

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from roost.domain import codec, names
from roost.domain import workspaces as domain
from roost.domain.errors import NotFound
from roost.sdk import configs
from roost.sdk.connections import Connection, connect
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.experiments import Experiment
    from roost.sdk.runs import Run


class Workspace:
    """A workspace of the control plane, made on first use. Objects for authentication are accepted and not needed."""

    def __init__(
        self,
        subscription_id: str = "",
        resource_group: str = "",
        workspace_name: str = domain.DEFAULT_WORKSPACE,
        auth: object = None,
        _location: str | None = None,
        _disable_service_check: bool = False,
        _workspace_id: str | None = None,
        sku: str = "basic",
        tags: Mapping[str, str] | None = None,
    ) -> None:
        names.workspace(workspace_name)
        self._connection = connect()
        self._record = _ensure(self._connection, workspace_name, subscription_id, resource_group, _location)

    @staticmethod
    def from_config(
        path: str | os.PathLike[str] | None = None,
        auth: object = None,
        _logger: object = None,
        _file_name: str | None = None,
    ) -> "Workspace":
        """The workspace that a configuration file names; the embedded default one where there is no file."""
        file = configs.find(os.fspath(path) if path is not None else None, _file_name)
        if file is None:
            print(f"No config.json found: using workspace {domain.DEFAULT_WORKSPACE!r}.")
            return Workspace()
        config = configs.read(file)
        return Workspace(config.subscription_id, config.resource_group, config.workspace_name)

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def location(self) -> str:
        return self._record.location

    @property
    def resource_group(self) -> str:
        return self._record.resource_group

    @property
    def subscription_id(self) -> str:
        return self._record.subscription_id

    @property
    def experiments(self) -> "dict[str, Experiment]":
        """Every experiment of the workspace, by name."""
        from roost.sdk.experiments import Experiment  # noqa: PLC0415 - experiments know their workspace: no circle

        answer = self._connection.client.call("GET", path_of("workspaces", self.name, "experiments"))
        found = [codec.decode(domain.Experiment, item) for item in answer["experiments"]]
        return {each.name: Experiment(self, each.name, _id=each.id, _create_in_cloud=False) for each in found}

    def get_run(self, run_id: str) -> "Run":
        """The run of that id; NotFound says which it may have been."""
        from roost.sdk.runs import Run  # noqa: PLC0415 - runs know their workspace: no circle

        return Run.get(self, run_id)

    def __repr__(self) -> str:
        return (
            f"Workspace(name={self.name!r}, subscription_id={self.subscription_id!r}, "
            f"resource_group={self.resource_group!r})"
        )


def _ensure(
    connection: Connection, name: str, subscription_id: str, resource_group: str, location: str | None
) -> domain.Workspace:
    """The workspace as the control plane has it, made if missing."""
    route = path_of("workspaces", name)
    try:
        return codec.decode(domain.Workspace, connection.client.call("GET", route))
    except NotFound:
        pass
    asked = {"subscription_id": subscription_id, "resource_group": resource_group, "location": location or "local"}
    made = codec.decode(domain.Workspace, connection.client.call("PUT", route, json=asked))
    print(f"Workspace {name!r} made.")
    return made
