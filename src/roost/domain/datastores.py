"""A datastore: a named place for data in a workspace. The record has its kind and address; the vault has its credential. Pure.

Readers of data get `Item`s: files with a size and either a path on this machine or an address to GET. So nodes and clients need
only paths and HTTP; the control plane lists object stores, signs addresses and relays bytes.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote, unquote

from roost.domain.errors import Conflict, InvalidInput

DEFAULT = "workspaceblobstore"
OWN = (DEFAULT, "workspacefilestore")
"""The datastores of every workspace, with Azure's names: folders of the control plane."""
MAX_SETTING = 1024
_NAME = re.compile(r"[a-zA-Z0-9_]{1,255}", re.ASCII)
_SHAPES = {
    "account": (re.compile(r"[a-z0-9-]{1,63}", re.ASCII), "lower-case letters, digits and `-`"),
    "container": (re.compile(r"\$?[a-z0-9-]{1,63}", re.ASCII), "lower-case letters, digits and `-`"),
    "bucket": (re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII), "letters, digits, `.`, `_` and `-`"),
    "region": (re.compile(r"[A-Za-z0-9_-]{1,63}", re.ASCII), "letters, digits, `_` and `-`"),
}
"""Settings that become part of a store's address: none may contain a character that ends a host or begins a path."""


class DatastoreKind(StrEnum):
    FOLDER = "folder"
    """A folder that the control plane's machine can read; `settings`: `path`."""
    AZURE_BLOB = "azure_blob"
    """`account`, `container`, and `endpoint` when it is not Azure's own. Blob storage and Data Lake Storage Gen2."""
    S3 = "s3"
    """`bucket`, and `region`, `endpoint`."""
    GCS = "gcs"
    """`bucket`."""
    HTTP = "http"
    """`url`, the parent of its paths. Read only, and fetched by the reader itself: the control plane never connects to it."""


SETTINGS: Mapping[DatastoreKind, tuple[frozenset[str], frozenset[str]]] = {
    DatastoreKind.FOLDER: (frozenset({"path"}), frozenset()),
    DatastoreKind.AZURE_BLOB: (frozenset({"account", "container"}), frozenset({"endpoint", "prefix", "relay"})),
    DatastoreKind.S3: (frozenset({"bucket"}), frozenset({"region", "endpoint", "prefix", "relay"})),
    DatastoreKind.GCS: (frozenset({"bucket"}), frozenset({"endpoint", "prefix", "relay"})),
    DatastoreKind.HTTP: (frozenset({"url"}), frozenset()),
}
"""The required and the optional settings of each kind. `prefix`: the folder that is the datastore's root; `relay`: "true" when
nodes cannot reach the store, so that its bytes go through the control plane."""
CREDENTIALS: Mapping[DatastoreKind, tuple[frozenset[str], ...]] = {
    DatastoreKind.FOLDER: (),
    DatastoreKind.AZURE_BLOB: (
        frozenset({"account_key"}),
        frozenset({"sas_token"}),
        frozenset({"tenant_id", "client_id", "client_secret"}),
    ),
    DatastoreKind.S3: (
        frozenset({"access_key_id", "secret_access_key"}),
        frozenset({"access_key_id", "secret_access_key", "session_token"}),
    ),
    DatastoreKind.GCS: (frozenset({"service_account_key"}),),
    DatastoreKind.HTTP: (),
}
"""The allowed forms of each kind's credential; no credential means public data."""


@dataclass(frozen=True, kw_only=True)
class Datastore:
    """The public facts of a datastore."""

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
    """One file of a dataset or datastore, at the time of the listing."""

    name: str
    """Path below the dataset's folder: relative, with slashes, checked by `names.path`."""
    path: str = ""
    """Path on this machine, read directly; else empty."""
    url: str = ""
    """Address to GET, valid for a while; empty when there is a path. Never shown or stored: it may be signed."""
    relayed: bool = False
    """True when `url` is a route of the control plane (`/api/…`), which needs the caller's token."""
    source: str = ""
    """Identifies the file for a cache: the same for every caller and every signed address."""
    size: int | None = None
    etag: str = ""
    modified_at: float | None = None

    @property
    def version(self) -> str:
        """Changes when the file changes; empty when its server gives no version."""
        return self.etag or (f"{self.modified_at}" if self.modified_at is not None else "")


def route_of(datastore: Datastore, path: str) -> str:
    """The control plane's route of one file."""
    return f"/api/workspaces/{datastore.workspace}/datastores/{datastore.name}/files/{quote(path)}"


def route_and_path(url: str) -> tuple[str, str]:
    """The reverse: the route for many files of the datastore, and the path."""
    *route, path = url.split("/", 7)
    return "/".join(route), unquote(path)


def shown(url: str) -> str:
    """A readable name for the route of a file."""
    route, path = route_and_path(url)
    return f"File {path!r} of datastore {route.split('/')[-2]!r}"


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"Datastore name {name!r} is not allowed.", hint="Use 1 to 255 letters, digits or `_`.")
    return name


def checked_settings(kind: DatastoreKind, settings: Mapping[str, str], credential: Mapping[str, str]) -> None:
    """InvalidInput when a setting is missing, unknown or wrong. A credential's values are never part of an error."""
    must, may = SETTINGS[kind]
    given = {name for name, value in settings.items() if value}
    if missing := must - given:
        raise InvalidInput(f"A datastore of kind {kind.value!r} needs {', '.join(sorted(missing))}.")
    if unknown := given - must - may:
        raise InvalidInput(f"A datastore of kind {kind.value!r} has no {', '.join(sorted(unknown))}.")
    for name, value in settings.items():
        if len(value) > MAX_SETTING or not value.isprintable():
            raise InvalidInput(f"{name} of the datastore is too long or has a character that cannot be printed.")
        if value and name in _SHAPES and not _SHAPES[name][0].fullmatch(value):
            raise InvalidInput(f"{name} {value!r} of the datastore is not allowed.", hint=f"Use {_SHAPES[name][1]}.")
    forms = CREDENTIALS[kind]
    held = frozenset(name for name, value in credential.items() if value)
    if held and held not in forms:
        known = " or ".join(" + ".join(sorted(form)) for form in forms) or "none"
        raise InvalidInput(
            f"{' with '.join(sorted(held))} is no credential of a datastore of kind {kind.value!r}.",
            hint=f"It takes: {known}.",
        )
    if kind is DatastoreKind.AZURE_BLOB and "account_key" in held:
        _check_base64("account_key", credential["account_key"])


def _check_base64(name: str, value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        raise InvalidInput(
            f"{name} is not base64, as Azure's keys are.", hint="Copy it whole: `Access keys` of the storage account."
        ) from None


def missing_folder(path: str) -> Conflict:
    """The error for a registered folder that is no folder now. Roost never creates it: on an unmounted disk, data would go to the
    wrong place."""
    return Conflict(
        f"The datastore's folder {path} is not there.", hint="Is its disk mounted? Or register the datastore anew."
    )
