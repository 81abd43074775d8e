"""`Datastore`: a named place of a workspace for data. Its credential stays in the control plane and is never shown."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roost.domain import codec
from roost.domain import datastores as domain
from roost.sdk import late
from roost.sdk.data import datastore_files
from roost.sdk.data.datastore_kinds import Registering
from roost.transport.client import path_of
from roost_job.context import JobWorkspace
from roost_job.data import datastores as job
from roost_job.data.datastore_facts import DatastoreFacts

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.data_references import DataReference


class Datastore(Registering, DatastoreFacts):
    """The datastore of that name, or the workspace's default: `Datastore(ws, "images")`. Inside a job, the job library's."""

    def __new__(cls, workspace: "Workspace | JobWorkspace | None" = None, name: str | None = None) -> "Datastore":
        if isinstance(workspace, JobWorkspace):
            return job.Datastore(workspace, name)  # type: ignore[return-value]
        return super().__new__(cls)

    def __init__(self, workspace: "Workspace | JobWorkspace", name: str | None = None) -> None:
        route = ("datastores", domain.checked_name(name)) if name is not None else ("default-datastore",)
        answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, *route))
        self._workspace, self._record = workspace, codec.decode(domain.Datastore, answer)

    @classmethod
    def _of(cls, workspace: "Workspace", record: domain.Datastore) -> "Datastore":
        made = cls.__new__(cls)
        made._workspace, made._record = workspace, record
        return made

    @staticmethod
    def get(workspace: "Workspace | JobWorkspace", datastore_name: str) -> "Datastore":
        """Raises NotFound when there is none of that name."""
        if isinstance(workspace, JobWorkspace):
            return job.Datastore.get(workspace, datastore_name)  # type: ignore[return-value]
        return Datastore(workspace, domain.checked_name(datastore_name))

    @staticmethod
    def get_default(workspace: "Workspace | JobWorkspace") -> "Datastore":
        return Datastore(workspace)

    @staticmethod
    def _all(workspace: "Workspace") -> "dict[str, Datastore]":
        answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, "datastores"))
        found = [codec.decode(domain.Datastore, each) for each in answer["datastores"]]
        return {each.name: Datastore._of(workspace, each) for each in found}

    @property
    def workspace(self) -> "Workspace":
        found: Workspace = self._workspace
        return found

    @property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = codec.encode(self._record)
        return facts

    # ---- operations

    def set_as_default(self) -> None:
        self._workspace.set_default_datastore(self.name)

    def unregister(self) -> None:
        """Removes it and its credential; its data stays."""
        self._workspace._connection.client.call(
            "DELETE", path_of("workspaces", self._workspace.name, "datastores", self.name)
        )

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> "DataReference":
        """A place in it as data for a run: `datastore.path('images').as_mount()`."""
        return late.DataReference(datastore=self, data_reference_name=data_reference_name, path_on_datastore=path)

    def as_mount(self) -> "DataReference":
        return self.path().as_mount()

    def as_download(self, path_on_compute: str | None = None) -> "DataReference":
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute: str | None = None) -> "DataReference":
        return self.path().as_upload(path_on_compute)

    def upload(
        self,
        src_dir: str | os.PathLike[str],
        target_path: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> "DataReference":
        """Uploads all files of a folder, below `target_path`. Existing files stay unless `overwrite`."""
        files = datastore_files.folder(src_dir)
        datastore_files.upload(self, files, target_path or "", overwrite=overwrite, show_progress=show_progress)
        return self.path(target_path)

    def upload_files(
        self,
        files: Sequence[str | os.PathLike[str]],
        relative_root: str | None = None,
        target_path: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> "DataReference":
        """Uploads these files below `target_path`: under their names, or their paths below `relative_root`."""
        chosen = datastore_files.chosen(files, relative_root)
        datastore_files.upload(self, chosen, target_path or "", overwrite=overwrite, show_progress=show_progress)
        return self.path(target_path)

    def download(
        self, target_path: str, prefix: str | None = None, overwrite: bool = False, show_progress: bool = True
    ) -> int:
        """Downloads all its files, or those below a folder of it, to a local folder, under their paths in the datastore;
        returns their number. Existing files stay unless `overwrite`."""
        return datastore_files.download(
            self, target_path, prefix or "", overwrite=overwrite, show_progress=show_progress
        )
