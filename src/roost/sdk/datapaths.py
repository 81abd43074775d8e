"""`DataPath`: a place in a datastore; `DataPathComputeBinding`: how a run is given it."""

from typing import TYPE_CHECKING

from roost.domain.errors import InvalidInput

if TYPE_CHECKING:
    from roost.sdk.datastores import Datastore


class DataPath:
    """A file, a folder or a pattern in a datastore."""

    def __init__(
        self,
        datastore: "Datastore | None" = None,
        path_on_datastore: str | None = None,
        name: str | None = None,
    ) -> None:
        from roost.sdk.datastores import Datastore  # noqa: PLC0415 - datastores know data paths: no circle

        if not isinstance(datastore, Datastore):
            raise InvalidInput(f"datastore must be a Datastore, got {type(datastore).__name__}.")
        self._datastore = datastore
        self._path = path_on_datastore or ""
        self._name = name

    @property
    def datastore_name(self) -> str:
        return self._datastore.name

    @property
    def path_on_datastore(self) -> str:
        return self._path

    @property
    def name(self) -> str | None:
        return self._name

    def create_binding(
        self, mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False
    ) -> "DataPathComputeBinding":
        return DataPathComputeBinding(mode, path_on_compute, overwrite)

    def __repr__(self) -> str:
        return f"DataPath(datastore={self._datastore.name!r}, path_on_datastore={self._path!r})"


class DataPathComputeBinding:
    """Mount, download or upload, and where."""

    def __init__(self, mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False) -> None:
        if mode not in ("mount", "download", "upload"):
            raise InvalidInput(f"mode must be mount, download or upload, got {mode!r}.")
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    def __repr__(self) -> str:
        return f"DataPathComputeBinding(mode={self.mode!r})"
