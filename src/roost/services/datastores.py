"""Datastores: registered by people, their credentials sealed. For the files in them see `stored_files.py`."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roost.domain import names, object_hosts
from roost.domain.datasets import checked_url, masked
from roost.domain.datastores import (
    DEFAULT,
    OWN,
    Datastore,
    DatastoreKind,
    checked_name,
    checked_settings,
)
from roost.domain.errors import Forbidden, InvalidInput
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.objects.base import Storage
from roost.objects.folder import FolderStorage
from roost.services import scopes, secrets, vault
from roost.services.context import Context

DATA = "data"
"""The folder in the home for the datastores that every workspace has."""


@dataclass(frozen=True, kw_only=True)
class NewDatastore:
    kind: DatastoreKind
    settings: Mapping[str, str]
    credential: Mapping[str, str]
    read_only: bool = False
    overwrite: bool = False


def register(context: Context, caller: Caller, workspace: str, name: str, new: NewDatastore) -> Datastore:
    """An object store is not contacted: it may be unreachable today. A folder must exist."""
    caller.require(Action.DATASTORE_REGISTER)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    if checked_name(name) in OWN:
        raise InvalidInput(f"{name!r} is the workspace's own datastore.", hint="Register it under another name.")
    settings = {key: value.strip() for key, value in new.settings.items() if value and value.strip()}
    credential = {key: value for key, value in new.credential.items() if value}
    checked_settings(new.kind, settings, credential)
    settings = _checked_place(context, new.kind, settings)
    datastore = Datastore(
        workspace=place,
        name=name,
        kind=new.kind,
        settings=settings,
        read_only=new.read_only or new.kind is DatastoreKind.HTTP,
        user=caller.user,
        created_at=context.clock(),
    )
    _open(context, datastore, credential)  # refuses settings that the library does not accept
    sealed = _seal(context, place, name, credential) if credential else None
    made = context.store.datastores.put(datastore, sealed, overwrite=new.overwrite)
    context.places.drop((place, name))
    return _marked(context, made)


def get(context: Context, caller: Caller, workspace: str, name: str) -> Datastore:
    """An empty name means the workspace's default."""
    caller.require(Action.DATASTORE_READ)
    scopes.require_workspace(context, caller, workspace)
    return find(context, workspace, name)


def find(context: Context, workspace: str, name: str) -> Datastore:
    """Like `get`, for other deeds, which check permission themselves."""
    place = context.store.workspaces.get(names.workspace(workspace)).name
    wanted = checked_name(name) if name else context.store.datastores.default(place) or DEFAULT
    if wanted in OWN:
        return _marked(context, _own(context, place, wanted))
    return _marked(context, context.store.datastores.get(place, wanted))


def listing(context: Context, caller: Caller, workspace: str) -> Sequence[Datastore]:
    """The datastores that every workspace has, then the others by name."""
    caller.require(Action.DATASTORE_READ)
    scopes.require_workspace(context, caller, workspace)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    found = [*(_own(context, place, name) for name in OWN), *context.store.datastores.list(place)]
    return [_marked(context, each) for each in found]


def unregister(context: Context, caller: Caller, workspace: str, name: str) -> bool:
    """True when it existed. The files in it stay."""
    caller.require(Action.DATASTORE_DELETE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    if checked_name(name) in OWN:
        raise InvalidInput(f"Datastore {name!r} is the workspace's own, and stays.")
    context.places.drop((place, name))
    return context.store.datastores.delete(place, name)


def set_default(context: Context, caller: Caller, workspace: str, name: str) -> Datastore:
    caller.require(Action.DATASTORE_SET_DEFAULT)
    found = find(context, workspace, checked_name(name))
    if found.read_only:
        raise InvalidInput(f"Datastore {name!r} is read only: what runs write could not be kept in it.")
    context.store.datastores.set_default(found.workspace, name)
    return _marked(context, found)


# ---- places


def place_of(context: Context, datastore: Datastore) -> Storage:
    """The open storage of a datastore, cached: to connect costs more than a request."""
    key = (datastore.workspace, datastore.name)
    known = context.places.get(key)
    if known is not None and known[0] == datastore.created_at:
        return known[1]
    place = _open(context, datastore, _credential(context, datastore))
    context.places.put(key, (datastore.created_at, place))
    return place


def _open(context: Context, datastore: Datastore, credential: Mapping[str, str]) -> Storage:
    if datastore.kind is DatastoreKind.FOLDER:
        home = Path(context.facts.home)
        roots = None if context.data_roots is None else [home / DATA, *map(Path, context.data_roots)]
        own, path = datastore.name in OWN, Path(datastore.settings["path"])
        return FolderStorage(path, roots, home=home, own=own, read_only=datastore.read_only)
    if datastore.kind is DatastoreKind.HTTP:
        return FolderStorage(Path(os.devnull), [])  # the server never reads from it
    from roost.objects.cloud import open_place  # noqa: PLC0415 - loaded only when object stores are used

    settings = dict(datastore.settings)
    if settings.get("endpoint"):  # again: an older version may have accepted it, or the allowed list has changed
        settings["endpoint"] = _checked_endpoint(context, settings["endpoint"])
    return open_place(datastore.name, datastore.kind, settings, credential)


def _own(context: Context, workspace: str, name: str) -> Datastore:
    folder = Path(context.facts.home) / DATA / workspace / name
    return Datastore(workspace=workspace, name=name, kind=DatastoreKind.FOLDER, settings={"path": str(folder)})


def _marked(context: Context, datastore: Datastore) -> Datastore:
    default = context.store.datastores.default(datastore.workspace) or DEFAULT
    return replace(datastore, is_default=datastore.name == default)


def _checked_place(context: Context, kind: DatastoreKind, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, after a check that this server may use their addresses and folder."""
    made = dict(settings)
    if kind is DatastoreKind.FOLDER:
        made["path"] = _checked_folder(context, settings["path"])
    if kind is DatastoreKind.HTTP:
        made["url"] = _checked_web(settings["url"])
        if "?" in made["url"] or "#" in made["url"]:
            raise InvalidInput(f"{masked(made['url'])!r} has a query; a datastore's address is a folder's.")
    if settings.get("prefix"):
        made["prefix"] = names.path(settings["prefix"].strip("/"))
    if settings.get("endpoint"):
        made["endpoint"] = _checked_endpoint(context, settings["endpoint"])
    return made


def _checked_web(url: str) -> str:
    try:
        return checked_url(url).rstrip("/")
    except InvalidInput as error:
        hint = "A datastore of kind 'http' is open to everybody, and keeps no credential: give an address without one."
        if not url.startswith(("http://", "https://")):
            hint = "Give an address that begins with http:// or https://, such as https://example.org/data."
        raise InvalidInput(error.message.replace("the dataset", "the datastore"), hint=hint) from None


def _checked_folder(context: Context, path: str) -> str:
    folder = os.path.normpath(os.path.expanduser(path))
    if not os.path.isabs(folder):
        raise InvalidInput(f"The folder of a datastore is an absolute path, got {path!r}.")
    real, home = Path(os.path.realpath(folder)), Path(os.path.realpath(context.facts.home))
    if real.is_relative_to(home) or home.is_relative_to(real):
        where = "lies in" if real.is_relative_to(home) else "holds"
        raise Forbidden(
            f"Folder {path!r} {where} the control plane's home {context.facts.home}, which has its token and its key.",
            hint="Give a folder of its own to the data.",
        )
    if context.data_roots is None:
        return _existing(folder)
    if not any(real.is_relative_to(os.path.realpath(root)) for root in context.data_roots):
        allowed = ", ".join(context.data_roots) or "none"
        raise Forbidden(
            f"Folder {path!r} is outside those that this server may read.",
            hint=f"Folders under ROOST_DATA_ROOTS are allowed: {allowed}.",
        )
    return _existing(folder)


def _existing(folder: str) -> str:
    if not os.path.isdir(folder):
        fact = "is a file, not a folder" if os.path.exists(folder) else "is not there"
        raise InvalidInput(
            f"{folder} {fact} on the control plane's machine.", hint="Make the folder, or mount its disk, first."
        )
    return folder


def _checked_endpoint(context: Context, endpoint: str) -> str:
    """On a shared server, only the providers' own endpoints and those of its settings are allowed: requests go out from the
    server's network."""
    address = object_hosts.read(endpoint)
    known = context.data_endpoints
    if known is None or address.of_a_provider or address.among(known):
        return str(address)
    raise Forbidden(
        f"The endpoint '{address}' is not one that this server may ask.",
        hint="Its administrator can add the host to ROOST_DATA_ENDPOINTS.",
    )


# ---- credentials


def _seal(context: Context, workspace: str, name: str, credential: Mapping[str, str]) -> bytes:
    first = secrets.nothing_sealed(context)
    return vault.seal(
        secrets.key_file(context), workspace, _sealed_name(name), json.dumps(dict(credential)), may_make_key=first
    )


def _credential(context: Context, datastore: Datastore) -> dict[str, str]:
    sealed = context.store.datastores.sealed(datastore.workspace, datastore.name)
    if sealed is None:
        return {}
    opened = vault.unseal(secrets.key_file(context), datastore.workspace, _sealed_name(datastore.name), sealed)
    found: dict[str, str] = json.loads(opened)
    return found


def _sealed_name(name: str) -> str:
    """No secret can have such a name."""
    return f"credential of datastore {name}"
