"""Datastores: registered by people, their credentials sealed; files in them listed, handed out and taken in.

A person reaches every datastore of a workspace. A run's token reaches what its run declared (`data_access.py`).
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from urllib.parse import quote, urlsplit

from roost.blobs import batches
from roost.domain import globs, names
from roost.domain.datasets import checked_url, masked
from roost.domain.datastores import DEFAULT, OWN, Datastore, DatastoreKind, Item, checked_name, checked_settings
from roost.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.objects.base import Found, Place
from roost.objects.folder import FolderPlace
from roost.services import data_access, secrets, vault
from roost.services.data_access import Reach
from roost.services.house import House

DATA = "data"
"""In the home folder: what is in the datastores that every workspace has."""
MAX_ITEMS = 500_000
MAX_BATCH = 10_000
"""So many files come in one body: names alone, without a byte of content, would fill the memory."""
_PROVIDERS = (".amazonaws.com", ".windows.net", ".googleapis.com")


@dataclass(frozen=True, kw_only=True)
class NewDatastore:
    kind: DatastoreKind
    settings: Mapping[str, str]
    credential: Mapping[str, str]
    read_only: bool = False
    overwrite: bool = False


def register(house: House, caller: Caller, workspace: str, name: str, new: NewDatastore) -> Datastore:
    """Nothing is asked of an object store: it may be out of reach today. A folder has to be there."""
    caller.require_person()
    place = house.store.workspaces.get(names.workspace(workspace)).name
    if checked_name(name) in OWN:
        raise InvalidInput(f"{name!r} is the workspace's own datastore.", hint="Register it under another name.")
    settings = {key: value.strip() for key, value in new.settings.items() if value and value.strip()}
    credential = {key: value for key, value in new.credential.items() if value}
    checked_settings(new.kind, settings, credential)
    settings = _checked_place(house, new.kind, settings)
    datastore = Datastore(
        workspace=place,
        name=name,
        kind=new.kind,
        settings=settings,
        read_only=new.read_only or new.kind is DatastoreKind.HTTP,
        user=caller.user,
        created_at=house.clock(),
    )
    _open(house, datastore, credential)  # settings that the library cannot make sense of are refused here
    sealed = _seal(house, place, name, credential) if credential else None
    made = house.store.datastores.put(datastore, sealed, overwrite=new.overwrite)
    house.places.drop((place, name))
    return _marked(house, made)


def get(house: House, workspace: str, name: str) -> Datastore:
    """With an empty name the workspace's default."""
    place = house.store.workspaces.get(names.workspace(workspace)).name
    wanted = checked_name(name) if name else house.store.datastores.default(place) or DEFAULT
    if wanted in OWN:
        return _marked(house, _own(house, place, wanted))
    return _marked(house, house.store.datastores.get(place, wanted))


def listing(house: House, workspace: str) -> Sequence[Datastore]:
    """Those that every workspace has, then by name."""
    place = house.store.workspaces.get(names.workspace(workspace)).name
    found = [*(_own(house, place, name) for name in OWN), *house.store.datastores.list(place)]
    return [_marked(house, each) for each in found]


def unregister(house: House, caller: Caller, workspace: str, name: str) -> bool:
    """Whether it was there. What is in it stays where it is."""
    caller.require_person()
    place = house.store.workspaces.get(names.workspace(workspace)).name
    if checked_name(name) in OWN:
        raise InvalidInput(f"Datastore {name!r} is the workspace's own, and stays.")
    house.places.drop((place, name))
    return house.store.datastores.delete(place, name)


def set_default(house: House, caller: Caller, workspace: str, name: str) -> Datastore:
    caller.require_person()
    found = get(house, workspace, checked_name(name))
    if found.read_only:
        raise InvalidInput(f"Datastore {name!r} is read only: what runs write could not be kept in it.")
    house.store.datastores.set_default(found.workspace, name)
    return _marked(house, found)


# ---- what is in them


@dataclass(frozen=True, kw_only=True)
class Listed:
    items: list[Item]
    odd: list[str]
    """Paths of files that are not among them, since no asker could have a file of that name."""


def items(house: House, caller: Caller, workspace: str, name: str, path: str, *, shared: bool) -> Listed:
    """The files that a path or pattern means, by name. `shared`: the asker sees this machine's files."""
    datastore = get(house, workspace, name)
    return items_in(house, data_access.reach(house, caller, datastore), datastore, path, shared=shared)


def items_in(
    house: House, reach: Reach, datastore: Datastore, path: str, *, shared: bool, below: str | None = None
) -> Listed:
    """For those who ask for many. `below`: the folder that names are relative to, their datastore's root when None."""
    reach.require_listing(path)
    if datastore.kind is DatastoreKind.HTTP:
        return Listed(items=[_web_item(datastore, globs.checked(path), below or "")], odd=[])
    place = place_of(house, datastore)
    found = matching(place, path)
    if not reach.covers(globs.checked(path)):
        for each in found:
            reach.require_file(each.path)
    folder = below or ""
    files = [(each, globs.below(each.path, folder) if folder else each.path) for each in found]
    if odd := [shown for _, shown in files if names.problem(shown)]:
        files = [(each, shown) for each, shown in files if not names.problem(shown)]
    addresses = place.addresses([each.path for each, _ in files])
    made = []
    for (each, shown), address in zip(files, addresses, strict=True):
        local = place.local(each.path) if shared else ""
        made.append(
            Item(
                name=names.path(shown),
                path=local,
                url="" if local else address or route_of(datastore, each.path),
                relayed=not local and not address,
                size=each.size,
                etag=each.etag,
                modified_at=each.modified_at,
                source=source_of(datastore, each.path),
            )
        )
    return Listed(items=made, odd=odd)


def matching(place: Place, path: str) -> list[Found]:
    """Sorted by path."""
    meant = globs.matcher(globs.checked(path))
    found = []
    for each in place.list(globs.base(globs.checked(path))):
        if meant(each.path):
            found.append(each)
            if len(found) > MAX_ITEMS:
                raise InvalidInput(
                    f"{path!r} means more than {MAX_ITEMS} files.", hint="Give a narrower pattern, or pack them."
                )
    return sorted(found, key=lambda each: each.path)


def head(house: House, caller: Caller, workspace: str, name: str, path: str) -> tuple[Place, Found]:
    """A file that may be read, and the place it is in; NotFound."""
    datastore = get(house, workspace, name)
    checked = names.path(path)
    data_access.reach(house, caller, datastore).require_file(checked)
    place = place_of(house, datastore)
    found = place.head(checked)
    if found is None:
        raise NotFound(f"Datastore {datastore.name!r} has no file {checked!r}.")
    return place, found


def read(place: Place, found: Found, offset: int, length: int) -> Iterator[bytes]:
    return place.read(found, offset, length)


def may_write(
    house: House, caller: Caller, workspace: str, name: str, paths: Sequence[str], *, overwrite: bool
) -> Place:
    """The place to write to; refused before a byte is written. Conflict when one is there and not to be replaced."""
    datastore = get(house, workspace, name)
    checked = [names.path(path) for path in paths]
    data_access.require_write(house, caller, datastore, checked)
    if datastore.read_only:
        raise Conflict(f"Datastore {datastore.name!r} is read only.", hint="Write to another one.")
    place = place_of(house, datastore)
    if not overwrite and (there := next((path for path in checked if place.head(path) is not None), None)):
        raise Conflict(
            f"Datastore {datastore.name!r} has a file {there!r} already.",
            hint="Give overwrite=True to replace it.",
            cli_hint="Give --overwrite to replace it.",
        )
    return place


def write(place: Place, path: str, pieces: Iterable[bytes | memoryview]) -> int:
    return place.write(names.path(path), pieces)


def write_batch(
    house: House, caller: Caller, workspace: str, name: str, body: bytes, *, overwrite: bool
) -> tuple[int, int]:
    """Many small files, each whole or not at all; how many, and their bytes. None is written when one may not be."""
    files = list(islice(batches.read_named(body), MAX_BATCH + 1))
    if len(files) > MAX_BATCH:
        raise InvalidInput(f"The batch has more than {MAX_BATCH} files.", hint="Send them in several.")
    place = may_write(house, caller, workspace, name, [path for path, _ in files], overwrite=overwrite)
    return len(files), sum(write(place, path, [data]) for path, data in files)


def source_of(datastore: Datastore, path: str) -> str:
    """Which file it is. A datastore that was registered anew under its name is another one."""
    return f"{datastore.workspace}/{datastore.name}@{datastore.created_at!r}/{path}"


def route_of(datastore: Datastore, path: str) -> str:
    return f"/api/workspaces/{datastore.workspace}/datastores/{datastore.name}/files/{quote(path)}"


# ---- places


def place_of(house: House, datastore: Datastore) -> Place:
    """Kept open: a connection to an object store costs more to make than a question costs to ask."""
    key = (datastore.workspace, datastore.name)
    known = house.places.get(key)
    if known is not None and known[0] == datastore.created_at:
        return known[1]
    place = _open(house, datastore, _credential(house, datastore))
    house.places.put(key, (datastore.created_at, place))
    return place


def _open(house: House, datastore: Datastore, credential: Mapping[str, str]) -> Place:
    if datastore.kind is DatastoreKind.FOLDER:
        own = Path(house.facts.home) / DATA
        roots = None if house.data_roots is None else [own, *map(Path, house.data_roots)]
        return FolderPlace(
            Path(datastore.settings["path"]), roots, own=datastore.name in OWN, read_only=datastore.read_only
        )
    if datastore.kind is DatastoreKind.HTTP:
        return FolderPlace(Path(os.devnull), [])  # nothing is ever asked of it here
    from roost.objects.cloud import open_place  # noqa: PLC0415 - only those who have object stores pay for the library

    return open_place(datastore.name, datastore.kind, datastore.settings, credential)


def _own(house: House, workspace: str, name: str) -> Datastore:
    folder = Path(house.facts.home) / DATA / workspace / name
    return Datastore(workspace=workspace, name=name, kind=DatastoreKind.FOLDER, settings={"path": str(folder)})


def _marked(house: House, datastore: Datastore) -> Datastore:
    default = house.store.datastores.default(datastore.workspace) or DEFAULT
    return replace(datastore, is_default=datastore.name == default)


def _checked_place(house: House, kind: DatastoreKind, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, their addresses and folder such that this server may go there."""
    made = dict(settings)
    if kind is DatastoreKind.FOLDER:
        made["path"] = _checked_folder(house, settings["path"])
    if kind is DatastoreKind.HTTP:
        made["url"] = _checked_web(settings["url"])
        if "?" in made["url"] or "#" in made["url"]:
            raise InvalidInput(f"{masked(made['url'])!r} has a query; a datastore's address is a folder's.")
    if settings.get("prefix"):
        made["prefix"] = names.path(settings["prefix"].strip("/"))
    if settings.get("endpoint"):
        made["endpoint"] = _checked_endpoint(house, settings["endpoint"])
    return made


def _checked_web(url: str) -> str:
    try:
        return checked_url(url).rstrip("/")
    except InvalidInput as error:
        hint = "A datastore of kind 'http' is open to everybody, and keeps no credential: give an address without one."
        if not url.startswith(("http://", "https://")):
            hint = "Give an address that begins with http:// or https://, such as https://example.org/data."
        raise InvalidInput(error.message.replace("the dataset", "the datastore"), hint=hint) from None


def _checked_folder(house: House, path: str) -> str:
    folder = os.path.normpath(os.path.expanduser(path))
    if not os.path.isabs(folder):
        raise InvalidInput(f"The folder of a datastore is an absolute path, got {path!r}.")
    if house.data_roots is None:
        return _existing(folder)
    real = Path(os.path.realpath(folder))
    if not any(real.is_relative_to(os.path.realpath(root)) for root in house.data_roots):
        allowed = ", ".join(house.data_roots) or "none"
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


def _checked_endpoint(house: House, endpoint: str) -> str:
    """On a shared server only the providers' own and those that its settings name: it goes there with its own network."""
    checked = checked_url(endpoint).rstrip("/")
    host = urlsplit(checked).hostname or ""
    known = house.data_endpoints
    if known is None or host in known or urlsplit(checked).netloc in known or host.endswith(_PROVIDERS):
        return checked
    raise Forbidden(
        f"The endpoint {masked(checked)!r} is not one that this server may ask.",
        hint="Its administrator can add the host to ROOST_DATA_ENDPOINTS.",
    )


def _web_item(datastore: Datastore, path: str, below: str) -> Item:
    if not path or globs.is_pattern(path):
        raise InvalidInput(
            f"{path or '/'!r} of datastore {datastore.name!r} cannot be listed: over HTTP files are named one by one.",
            hint="Give the path of each file.",
        )
    shown = globs.below(path, below) if below and path != below else path.rpartition("/")[2]
    return Item(
        name=names.path(shown),
        url=f"{datastore.settings['url']}/{quote(path)}",
        source=f"{datastore.settings['url']}/{quote(path)}",
    )


# ---- credentials


def _seal(house: House, workspace: str, name: str, credential: Mapping[str, str]) -> bytes:
    first = secrets.nothing_sealed(house)
    return vault.seal(
        secrets.key_file(house), workspace, _sealed_name(name), json.dumps(dict(credential)), may_make_key=first
    )


def _credential(house: House, datastore: Datastore) -> dict[str, str]:
    sealed = house.store.datastores.sealed(datastore.workspace, datastore.name)
    if sealed is None:
        return {}
    opened = vault.unseal(secrets.key_file(house), datastore.workspace, _sealed_name(datastore.name), sealed)
    found: dict[str, str] = json.loads(opened)
    return found


def _sealed_name(name: str) -> str:
    """No secret can have such a name."""
    return f"credential of datastore {name}"
