"""A datastore: a named place of a workspace where data is. What it is and where is here; its credential is in the vault. Pure.

Whoever reads data is given `Item`s: files with a size and either a path on this machine or an address to GET. Nodes and
clients therefore know paths and HTTP only; object stores are the control plane's, which lists them, signs addresses and relays.
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
"""Those that every workspace has, under Azure's names: folders of the control plane's own."""
MAX_SETTING = 1024
_NAME = re.compile(r"[a-zA-Z0-9_]{1,255}", re.ASCII)
_SHAPES = {
    "account": (re.compile(r"[a-z0-9-]{1,63}", re.ASCII), "lower-case letters, digits and `-`"),
    "container": (re.compile(r"\$?[a-z0-9-]{1,63}", re.ASCII), "lower-case letters, digits and `-`"),
    "bucket": (re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII), "letters, digits, `.`, `_` and `-`"),
    "region": (re.compile(r"[A-Za-z0-9_-]{1,63}", re.ASCII), "letters, digits, `_` and `-`"),
}
"""Parts of the address that a store is asked at: none may hold what ends a host or begins a path."""


class DatastoreKind(StrEnum):
    FOLDER = "folder"
    """A folder that the control plane's machine sees; `settings`: `path`."""
    AZURE_BLOB = "azure_blob"
    """`account`, `container`, and `endpoint` when it is not Azure's own. Blob storage and Data Lake Storage Gen2."""
    S3 = "s3"
    """`bucket`, and `region`, `endpoint`."""
    GCS = "gcs"
    """`bucket`."""
    HTTP = "http"
    """`url`, under which its paths are. Read only, and by whoever reads: the control plane never asks it."""


SETTINGS: Mapping[DatastoreKind, tuple[frozenset[str], frozenset[str]]] = {
    DatastoreKind.FOLDER: (frozenset({"path"}), frozenset()),
    DatastoreKind.AZURE_BLOB: (frozenset({"account", "container"}), frozenset({"endpoint", "prefix", "relay"})),
    DatastoreKind.S3: (frozenset({"bucket"}), frozenset({"region", "endpoint", "prefix", "relay"})),
    DatastoreKind.GCS: (frozenset({"bucket"}), frozenset({"endpoint", "prefix", "relay"})),
    DatastoreKind.HTTP: (frozenset({"url"}), frozenset()),
}
"""What each kind must and may say. `prefix`: the folder in it that is the datastore's root; `relay`: "true" when nodes cannot
reach it, so that its bytes go through the control plane."""
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
"""The forms that each kind's credential may have; none at all means what is open to everybody."""


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
    """Whether `url` is a route of the control plane (`/api/…`), asked with the caller's token."""
    source: str = ""
    """Which file it is, whoever asks and however its address is signed: what a cache knows it by."""
    size: int | None = None
    etag: str = ""
    modified_at: float | None = None

    @property
    def version(self) -> str:
        """Changes when the file does; empty when its server says nothing of it."""
        return self.etag or (f"{self.modified_at}" if self.modified_at is not None else "")


def route_of(datastore: Datastore, path: str) -> str:
    """Of the control plane, for one of its files."""
    return f"/api/workspaces/{datastore.workspace}/datastores/{datastore.name}/files/{quote(path)}"


def route_and_path(url: str) -> tuple[str, str]:
    """The other way: the route for many of its files, and the path."""
    *route, path = url.split("/", 7)
    return "/".join(route), unquote(path)


def shown(url: str) -> str:
    """What a route of one of its files is about, in words."""
    route, path = route_and_path(url)
    return f"File {path!r} of datastore {route.split('/')[-2]!r}"


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"Datastore name {name!r} is not allowed.", hint="Use 1 to 255 letters, digits or `_`.")
    return name


def checked_settings(kind: DatastoreKind, settings: Mapping[str, str], credential: Mapping[str, str]) -> None:
    """InvalidInput when something is missing, unknown or does not fit. A credential's values are never part of an error."""
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
    """A registered folder that is no folder now. It is never made: a disk that is not mounted would be written beside."""
    return Conflict(
        f"The datastore's folder {path} is not there.", hint="Is its disk mounted? Or register the datastore anew."
    )
