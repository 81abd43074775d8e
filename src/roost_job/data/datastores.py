"""Datastores as a script in a job uses them: `Datastore.get(workspace, name)`, `workspace.get_default_datastore()`.

The script names files and folders, its agent transfers the bytes. The run's lineage records these reads and writes.
"""

from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from roost_job import outside
from roost_job.data import local_files
from roost_job.data.datapaths import DataReference
from roost_job.data.datasets import link_of
from roost_job.data.datastore_facts import DatastoreFacts

_BATCH = 20000
"""Files per request: for each one the agent checks whether it exists."""


class _Refusing(type):
    """`Datastore.register_…` in a job raises an error: it is available only outside."""

    def __getattr__(cls, name: str) -> NoReturn:
        outside.refuse("Datastore", name, outside.DATASTORE, vars(Datastore))


class Datastore(DatastoreFacts, metaclass=_Refusing):
    """The datastore of that name, or the workspace's default: `Datastore(workspace, "images")`."""

    def __init__(self, workspace: Any, name: Optional[str] = None) -> None:
        self._workspace = workspace
        self._record: Mapping[str, Any] = link_of(workspace).ask(
            "datastore", **({} if name is None else {"name": name})
        )

    @classmethod
    def _of(cls, workspace: Any, record: Mapping[str, Any]) -> "Datastore":
        made = cls.__new__(cls)
        made._workspace, made._record = workspace, record
        return made

    @staticmethod
    def get(workspace: Any, datastore_name: str) -> "Datastore":
        """UserErrorException when there is no datastore of that name."""
        return Datastore._of(workspace, link_of(workspace).ask("datastore", name=datastore_name))

    @staticmethod
    def get_default(workspace: Any) -> "Datastore":
        return Datastore(workspace)

    @property
    def _facts(self) -> Mapping[str, Any]:
        return self._record

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> DataReference:
        """A place in it: `Dataset.File.from_files(datastore.path('images'))`."""
        return DataReference(self, data_reference_name, path)

    def upload(
        self, src_dir: Any, target_path: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> DataReference:
        """Uploads all files of a folder, below `target_path`. Existing files stay unless `overwrite` is given."""
        self._send(local_files.folder(src_dir), target_path, overwrite, show_progress)
        return self.path(target_path)

    def upload_files(
        self,
        files: Sequence[Any],
        relative_root: Optional[str] = None,
        target_path: Optional[str] = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Uploads these files, below `target_path`: under their names, or under their paths below `relative_root`."""
        self._send(local_files.chosen(files, relative_root), target_path, overwrite, show_progress)
        return self.path(target_path)

    def download(
        self, target_path: Any, prefix: Optional[str] = None, overwrite: bool = False, show_progress: bool = True
    ) -> int:
        """Downloads everything in it, or below one of its folders, to a folder here, under its path in the datastore; returns the
        number of files. Existing files stay unless `overwrite` is given."""
        folder = local_files.absolute("target_path", target_path)
        asked = {"name": self.name, "path": folder, "prefix": prefix or "", "overwrite": bool(overwrite)}
        came = link_of(self._workspace).ask("datastore_download", **asked)
        if show_progress:
            local_files.say_of_download(self.name, prefix or "", came["count"] + came["there"], came["there"], folder)
            local_files.say(local_files.done("Downloaded", came["count"], came["size"]))
        return int(came["count"])

    def _send(self, files: List[Tuple[str, str]], target: Optional[str], overwrite: bool, show_progress: bool) -> str:
        """Uploads the files; returns their place in the datastore."""
        local_files.require_apart([name for _, name in files])
        local_files.require_seen(target or "")
        link, place = link_of(self._workspace), ""
        sent = size = there = 0
        for start in range(0, len(files), _BATCH):
            batch = [[name, path] for path, name in files[start : start + _BATCH]]
            asked = {"name": self.name, "files": batch, "target": target or "", "overwrite": bool(overwrite)}
            answer = link.ask("datastore_upload", **asked)
            place = str(answer["path"])
            if answer.get("left_out"):
                local_files.say(answer["left_out"])
            sent, size, there = sent + answer["count"], size + answer["size"], there + answer["there"]
        if show_progress and there:
            local_files.say(local_files.stayed(there, self.name))
        if show_progress:
            local_files.say(local_files.done("Uploaded", sent, size))
        return place

    def __getattr__(self, name: str) -> NoReturn:
        outside.refuse("Datastore", name, outside.DATASTORE, vars(Datastore))


def every(workspace: Any) -> Dict[str, Datastore]:
    """The datastores of a workspace by name, its own first."""
    return {each["name"]: Datastore._of(workspace, each) for each in link_of(workspace).ask("datastores")}
