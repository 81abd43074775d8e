"""The files in datastores: listed, read and written, one by one or many small ones at once.

A person reaches every datastore of a workspace. A run's token reaches what its run declared (`data_access.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote

from roost.blobs import batches
from roost.domain import globs, names
from roost.domain.datastores import Datastore, DatastoreKind, Item, route_of
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.objects.base import Found, Storage
from roost.services import data_access, datastores
from roost.services.context import Context
from roost.services.data_access import Reach

MAX_ITEMS = 500_000
MAX_ASKED = 1000
_BATCH_BYTES = 8 * 1024 * 1024
"""The most bytes of files in one body."""
_READERS = 16
"""Files that are read from an object store at once."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    items: list[Item]
    odd: list[str]
    """Paths of files that are left out because no client could store a file of that name."""


def items(context: Context, caller: Caller, workspace: str, name: str, path: str, *, shared: bool) -> Listed:
    """The files that a path or pattern matches, by name. `shared`: the caller sees this machine's files."""
    caller.require(Action.STORED_FILE_READ)
    datastore = data_access.datastore_of(context, caller, workspace, name)
    return items_in(context, data_access.reach(context, caller, datastore), datastore, path, shared=shared)


def items_in(
    context: Context, reach: Reach, datastore: Datastore, path: str, *, shared: bool, below: str | None = None
) -> Listed:
    """Like `items`, for callers with many paths. `below`: the folder that names are relative to; None for the datastore's
    root."""
    reach.require_listing(path)
    if datastore.kind is DatastoreKind.HTTP:
        return Listed(items=[_web_item(datastore, globs.checked(path), below or "")], odd=[])
    place = datastores.place_of(context, datastore)
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


def matching(place: Storage, path: str) -> list[Found]:
    """The files that a path or pattern matches, sorted by path."""
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


def head(context: Context, caller: Caller, workspace: str, name: str, path: str) -> tuple[Storage, Found]:
    """A file that the caller may read, and its storage; NotFound."""
    caller.require(Action.STORED_FILE_READ)
    datastore = data_access.datastore_of(context, caller, workspace, name)
    checked = names.path(path)
    data_access.reach(context, caller, datastore).require_file(checked)
    place = datastores.place_of(context, datastore)
    found = place.head(checked)
    if found is None:
        raise NotFound(f"Datastore {datastore.name!r} has no file {checked!r}.")
    return place, found


def read(place: Storage, found: Found, offset: int, length: int) -> Iterator[bytes]:
    return place.read(found, offset, length)


def read_batch(context: Context, caller: Caller, workspace: str, name: str, wanted: Mapping[str, str]) -> bytes:
    """Many small files in one body: those that exist in the requested version (ETag), as many as fit. The client requests a
    missing one alone, and gets the reason."""
    caller.require(Action.STORED_FILE_FETCH)
    if len(wanted) > MAX_ASKED:
        raise InvalidInput(f"More than {MAX_ASKED} files are asked for.", hint="Ask for them in several requests.")
    wanted = {names.path(path): etag for path, etag in wanted.items()}
    datastore = data_access.datastore_of(context, caller, workspace, name)
    reach = data_access.reach(context, caller, datastore)
    for path in wanted:
        reach.require_file(path)
    place = datastores.place_of(context, datastore)
    with ThreadPoolExecutor(_READERS) if datastore.kind is not DatastoreKind.FOLDER else nullcontext() as pool:
        each = pool.map if pool else map
        found = (file for file in each(place.head, wanted) if file and wanted.get(file.path) in ("", file.etag))
        return b"".join(each(lambda file: _framed(place, file), list(_fitting(found))))


def _fitting(found: Iterable[Found]) -> Iterator[Found]:
    room = _BATCH_BYTES
    for file in found:
        room -= file.size
        if room < 0:
            return
        yield file


def _framed(place: Storage, file: Found) -> bytes:
    """Empty for a file that was deleted or changed meanwhile."""
    try:
        data = b"".join(place.read(file, 0, file.size))
    except (NotFound, Conflict):
        return b""
    return batches.named(file.path, data) if len(data) == file.size else b""


def may_write(
    context: Context, caller: Caller, workspace: str, name: str, paths: Sequence[str], *, overwrite: bool
) -> Storage:
    """The storage to write to; refuses before a byte is written. Conflict when a file exists and `overwrite` is False."""
    caller.require(Action.STORED_FILE_WRITE)
    datastore = data_access.datastore_of(context, caller, workspace, name)
    checked = [names.path(path) for path in paths]
    data_access.require_write(context, caller, datastore, checked)
    if datastore.read_only:
        raise Conflict(f"Datastore {datastore.name!r} is read only.", hint="Write to another one.")
    place = datastores.place_of(context, datastore)
    if not overwrite and (there := next((path for path in checked if place.head(path) is not None), None)):
        raise Conflict(
            f"Datastore {datastore.name!r} has a file {there!r} already.",
            hint="Give overwrite=True to replace it.",
            cli_hint="Give --overwrite to replace it.",
        )
    return place


def write(place: Storage, path: str, pieces: Iterable[bytes | memoryview]) -> int:
    return place.write(names.path(path), pieces)


def write_batch(
    context: Context, caller: Caller, workspace: str, name: str, body: bytes, *, overwrite: bool
) -> tuple[int, int]:
    """Writes many small files, each completely or not at all; returns their number and bytes. Writes none when one is refused."""
    caller.require(Action.STORED_FILE_WRITE)
    files = list(islice(batches.read_named(body), batches.MAX_COUNT + 1))
    if len(files) > batches.MAX_COUNT:
        raise InvalidInput(f"The batch has more than {batches.MAX_COUNT} files.", hint="Send them in several.")
    place = may_write(context, caller, workspace, name, [path for path, _ in files], overwrite=overwrite)
    return len(files), sum(write(place, path, [data]) for path, data in files)


def source_of(datastore: Datastore, path: str) -> str:
    """Identifies a file. A datastore that was registered again under its name counts as another one."""
    return f"{datastore.workspace}/{datastore.name}@{datastore.created_at!r}/{path}"


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
