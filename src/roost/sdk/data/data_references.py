"""The older way to give data to a run: `datastore.path('images').as_mount()`, in `arguments` or in
`run_config.data_references`. In the run it is the variable `AZUREML_DATAREFERENCE_<name>`, which an argument may name after a
`$`.
"""

from typing import TYPE_CHECKING

from roost.domain import globs
from roost.domain.datasets import VARIABLE, Definition, Input, Mode, Output, Source
from roost.domain.datastores import DEFAULT, checked_name
from roost.domain.errors import InvalidInput
from roost.sdk.data.consumption import checked_input, checked_place, new_name, put_into_text
from roost_job.data.datastore_facts import DatastoreFacts

if TYPE_CHECKING:
    from roost.sdk.data.datastores import Datastore

_MODES = ("mount", "download", "upload")


class DataReference:
    """A place in a datastore, and how a run gets it: mounted (to read), downloaded, or uploaded to at its end."""

    def __init__(
        self,
        datastore: "Datastore",
        data_reference_name: str | None = None,
        path_on_datastore: str | None = None,
        mode: str = "mount",
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        if not isinstance(datastore, DatastoreFacts):
            raise InvalidInput(f"datastore must be a Datastore, got {type(datastore).__name__}.")
        if mode not in _MODES:
            raise InvalidInput(f"mode must be one of {', '.join(_MODES)}, got {mode!r}.")
        self.datastore = datastore
        self.data_reference_name = checked_input(data_reference_name) if data_reference_name else new_name("data")
        self.path_on_datastore = globs.checked(path_on_datastore or "")
        self.mode = mode
        self.path_on_compute = checked_place(path_on_compute)
        self.overwrite = bool(overwrite)

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> "DataReference":
        """A place below this one."""
        below = "/".join(each for each in (self.path_on_datastore, (path or "").strip("/")) if each)
        return DataReference(
            self.datastore, data_reference_name, below, self.mode, self.path_on_compute, self.overwrite
        )

    def as_mount(self) -> "DataReference":
        return self._as("mount", None, False)

    def as_download(self, path_on_compute: str | None = None, overwrite: bool = False) -> "DataReference":
        return self._as("download", path_on_compute, overwrite)

    def as_upload(self, path_on_compute: str | None = None, overwrite: bool = False) -> "DataReference":
        """`path_on_compute`: the folder that is uploaded at the end, relative to the working copy."""
        return self._as("upload", path_on_compute, overwrite)

    def to_config(self) -> "DataReferenceConfiguration":
        """The value for `run_config.data_references[name]`."""
        return DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )

    def _as(self, mode: str, path_on_compute: str | None, overwrite: bool) -> "DataReference":
        return DataReference(
            self.datastore, self.data_reference_name, self.path_on_datastore, mode, path_on_compute, overwrite
        )

    def _carried(self) -> Input | Output:
        return self.to_config()._carried(self.data_reference_name)

    def __str__(self) -> str:
        return put_into_text(self, f"${VARIABLE}{self.data_reference_name}")

    def __repr__(self) -> str:
        place = f"{self.datastore.name}/{self.path_on_datastore}"
        return f"DataReference(name={self.data_reference_name!r}, path={place!r}, mode={self.mode!r})"


class DataReferenceConfiguration:
    """The same without a name, which is the key in `run_config.data_references`."""

    def __init__(
        self,
        datastore_name: str | None = None,
        mode: str = "mount",
        path_on_datastore: str | None = None,
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        if mode not in _MODES:
            raise InvalidInput(f"mode must be one of {', '.join(_MODES)}, got {mode!r}.")
        self.datastore_name = checked_name(datastore_name or DEFAULT)
        self.mode = mode
        self.path_on_datastore = globs.checked(path_on_datastore or "")
        self.path_on_compute = checked_place(path_on_compute)
        self.overwrite = bool(overwrite)

    def _carried(self, name: str) -> Input | Output:
        """The record for a run."""
        if self.mode == "upload":
            return Output(
                name=checked_input(name),
                datastore=self.datastore_name,
                path=self.path_on_datastore,
                overwrite=self.overwrite,
                source=self.path_on_compute or "",
            )
        source = Source(datastore=self.datastore_name, path=self.path_on_datastore)
        return Input(
            name=checked_input(name),
            definition=Definition(sources=(source,)),
            mode=Mode(self.mode),
            path_on_compute=self.path_on_compute or "",
        )

    def __repr__(self) -> str:
        place = f"{self.datastore_name}/{self.path_on_datastore}"
        return f"DataReferenceConfiguration(path={place!r}, mode={self.mode!r})"
