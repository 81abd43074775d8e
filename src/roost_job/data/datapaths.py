"""Places in a datastore: `DataPath`, the same in jobs and outside, and the `DataReference` that a job's `path()` returns."""

import binascii
import os
from typing import Any, NoReturn, Optional, Tuple

from roost_job import outside
from roost_job.data.datastore_facts import DatastoreFacts
from roost_job.exceptions import UserErrorException

_MODES = ("mount", "download", "upload")


class DataPath(object):
    """A file, a folder or a pattern in a datastore."""

    def __init__(
        self, datastore: Any = None, path_on_datastore: Optional[str] = None, name: Optional[str] = None
    ) -> None:
        self._datastore = checked(datastore)
        self._path = path_on_datastore or ""
        self._name = name

    @property
    def datastore_name(self) -> str:
        return self._datastore.name

    @property
    def path_on_datastore(self) -> str:
        return self._path

    @property
    def name(self) -> Optional[str]:
        return self._name

    def create_binding(
        self, mode: str = "mount", path_on_compute: Optional[str] = None, overwrite: bool = False
    ) -> "DataPathComputeBinding":
        return DataPathComputeBinding(mode, path_on_compute, overwrite)

    def __repr__(self) -> str:
        return "DataPath(datastore=%r, path_on_datastore=%r)" % (self._datastore.name, self._path)


class DataPathComputeBinding(object):
    """Mount, download or upload, and the path for it."""

    def __init__(self, mode: str = "mount", path_on_compute: Optional[str] = None, overwrite: bool = False) -> None:
        self.mode = checked_mode(mode)
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    def __repr__(self) -> str:
        return "DataPathComputeBinding(mode=%r)" % self.mode


class DataReference(object):
    """A place in a datastore, to make a dataset of: a job starts no run that could use it as an input."""

    def __init__(
        self,
        datastore: Any,
        data_reference_name: Optional[str] = None,
        path_on_datastore: Optional[str] = None,
        mode: str = "mount",
        path_on_compute: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        self.datastore = checked(datastore)
        self.data_reference_name = data_reference_name or "data_%s" % binascii.hexlify(os.urandom(4)).decode()
        self.path_on_datastore = regular(path_on_datastore or "")
        self.mode = checked_mode(mode)
        self.path_on_compute = path_on_compute
        self.overwrite = bool(overwrite)

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> "DataReference":
        """A place below this one."""
        below = "/".join(each for each in (self.path_on_datastore, regular(path or "")) if each)
        return DataReference(self.datastore, data_reference_name, below)

    def __getattr__(self, name: str) -> NoReturn:
        outside.refuse(type(self).__name__, name, outside.REFERENCE, dir(type(self)))

    def __repr__(self) -> str:
        place = "%s/%s" % (self.datastore.name, self.path_on_datastore)
        return "DataReference(name=%r, path=%r)" % (self.data_reference_name, place)


def checked(datastore: Any) -> DatastoreFacts:
    if not isinstance(datastore, DatastoreFacts):
        raise UserErrorException(
            "datastore must be a Datastore, got %s." % type(datastore).__name__,
            hint="Datastore.get(workspace, name) gives one.",
        )
    return datastore


def regular(path: str) -> str:
    """The path without `.` and empty parts: the root of a datastore is an empty path in every spelling."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def checked_mode(mode: Any) -> str:
    if mode not in _MODES:
        raise UserErrorException("mode must be one of %s, got %r." % (", ".join(_MODES), mode))
    return str(mode)


def place(given: Any) -> Optional[Tuple[Any, str]]:
    """The datastore and the path in it, from any of the supported forms; None for anything else."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], DatastoreFacts):
        if given[1] is not None and not isinstance(given[1], (str, os.PathLike)):
            raise UserErrorException(
                "A path in a datastore must be text, got %s %r." % (type(given[1]).__name__, given[1]),
                hint="Give several as a list of pairs: [(datastore, 'a'), (datastore, 'b')].",
            )
        return given[0], str(given[1] or "")
    if isinstance(given, DatastoreFacts):
        return given, ""
    if hasattr(given, "path_on_datastore"):  # a DataPath or a DataReference
        return getattr(given, "datastore", None) or given._datastore, given.path_on_datastore or ""
    return None


def target(given: Any) -> Tuple[Any, str]:
    """The datastore and the path to write to."""
    found = place(given)
    if found is None:
        raise UserErrorException("target must be a Datastore, a DataPath or (datastore, path), got %r." % (given,))
    return found
