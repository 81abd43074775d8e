"""The part of `Workspace` that is about data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from roost.domain.datastores import checked_name
from roost.sdk import late
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.connection.connections import Connection
    from roost.sdk.data.datasets import FileDataset
    from roost.sdk.data.datastores import Datastore
    from roost.sdk.data.tabular_datasets import TabularDataset


class DataOfWorkspace:
    _connection: "Connection"

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def datasets(self) -> "Mapping[str, FileDataset | TabularDataset]":
        """The newest version of each registered dataset, by name."""
        return late.Dataset.get_all(self)  # type: ignore[arg-type]

    @property
    def datastores(self) -> "dict[str, Datastore]":
        """Every datastore of the workspace, by name; its own first."""
        return late.Datastore._all(self)  # type: ignore[arg-type]

    def get_default_datastore(self) -> "Datastore":
        """The default place for data: a folder of the control plane's own, until a user chooses another."""
        return late.Datastore(self)  # type: ignore[arg-type]

    def set_default_datastore(self, name: str) -> None:
        route = path_of("workspaces", self.name, "default-datastore")
        self._connection.client.call("PUT", route, json={"name": checked_name(name)})
