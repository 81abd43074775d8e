"""A datastore: a named place of a workspace where data is. What it is and where is here; its credential is in the vault. Pure.

Whoever reads data is given `Item`s: files with a size and either a path on this machine or an address to GET. Nodes and
clients therefore know paths and HTTP only; object stores are the control plane's, which lists them, signs addresses and relays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT = "workspaceblobstore"
"""The one that every workspace has: a folder of the control plane's own."""


class DatastoreKind(StrEnum):
    FOLDER = "folder"
    """A folder that the control plane's machine sees; `settings`: `path`."""
    AZURE_BLOB = "azure_blob"
    """`account`, `container`, `endpoint` when it is not Azure's own."""
    AZURE_FILE = "azure_file"
    """`account`, `share`; mapped where it makes sense."""
    S3 = "s3"
    """`bucket`, `region`, `endpoint`."""
    GCS = "gcs"
    """`bucket`."""
    HTTP = "http"
    """`url`, under which its paths are."""


@dataclass(frozen=True, kw_only=True)
class Datastore:
    """What everybody may know of it."""

    workspace: str
    name: str
    kind: DatastoreKind
    settings: Mapping[str, str] = field(default_factory=dict)
    """Never a credential."""
    has_credential: bool = False
    is_default: bool = False
    read_only: bool = False
    user: str = ""
    created_at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Item:
    """One file of a dataset or datastore, as it was when it was listed."""

    name: str
    """Where it lies below the folder that the dataset becomes: relative, slashes, checked by `names.path`."""
    path: str = ""
    """On this machine, read as it is; else empty."""
    url: str = ""
    """To GET it from, good for a while; empty when it has a path. Never shown or kept: it may be signed."""
    relayed: bool = False
    """Whether `url` is a route of the control plane, asked with the caller's token."""
    size: int | None = None
    etag: str = ""
    modified_at: float | None = None

    @property
    def version(self) -> str:
        """Changes when the file does; empty when its server says nothing of it."""
        return self.etag or (f"{self.modified_at}" if self.modified_at is not None else "")
