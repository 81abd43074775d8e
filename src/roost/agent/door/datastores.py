"""The door's datastore ops: they find datastores, upload and download files, and make and register datasets.

Every use is recorded with the run before the first byte moves (docs/decisions/030). Nothing is read or written through a link
that the script makes meanwhile.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.agent.door.children import absolute
from roost.agent.door.datasets import Datasets, definition_of
from roost.agent.door.door import Door
from roost.agent.folder import Folder
from roost.agent.link import locate
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.transfers import NO_ROOM
from roost.domain import globs, names
from roost.domain.codec import decode, encode
from roost.domain.datasets import Definition, Direction, Source, checked_name, nothing_there
from roost.domain.datastores import Datastore, Item
from roost.domain.datastores import checked_name as checked_datastore
from roost.domain.errors import Conflict, DiskFull, InvalidInput
from roost.domain.plans import Access
from roost.transport import storing
from roost.transport.client import path_of
from roost.transport.guarded_files import held

Request = Mapping[str, Any]
_SECONDS = 600.0
"""How long the listing of a datastore may take."""
_MOST_NAMES = 100
"""An upload to the root of a datastore is recorded by at most this many names; one with more names, or with names that are
patterns (`a*`), is recorded as the whole datastore."""
_ELSEWHERE = "Give a folder, there or yet to be made, that you may write to."


class Datastores:
    """Safe for threads. `meanwhile` is called during transfers, and raises once they are not wanted any more."""

    def __init__(
        self,
        folder: Folder,
        workspace: str,
        access: Access,
        door: Door,
        data: Datasets,
        meanwhile: Callable[[], None],
    ) -> None:
        self._folder, self._workspace, self._access = folder, workspace, access
        self._door, self._link, self._data, self._meanwhile = door, door.link, data, meanwhile
        self.ops: Mapping[str, Callable[[Request], object]] = {
            "datastore": self._datastore,
            "datastores": self._datastores,
            "datastore_upload": self._upload,
            "datastore_download": self._download,
            "dataset_make": self._make,
            "dataset_register": self._register,
        }

    def _datastore(self, request: Request) -> object:
        """The datastore with the given name; without a name, the default one."""
        if "name" not in request:
            return self._link.client.call("GET", self._route("default-datastore"))
        return self._link.client.call("GET", self._route("datastores", checked_datastore(request["name"])))

    def _datastores(self, _: Request) -> object:
        return self._link.client.call("GET", self._route("datastores"))["datastores"]

    # ---- files

    def _upload(self, request: Request) -> object:
        """Uploads files into a folder of the datastore; skips existing ones unless they are to be replaced."""
        base = globs.checked(_text(request, "target"))
        if globs.is_pattern(base):
            raise InvalidInput(f"{base!r} is a pattern; files are uploaded to a folder.", hint="Leave out `*` and `?`.")
        files, odd = self._files(request, base)
        store = decode(Datastore, self._datastore({"name": request.get("name")}))
        if store.read_only:
            raise Conflict(f"Datastore {store.name!r} is read only.", hint="Upload to another one.")
        tops = [base] if base else sorted({name.partition("/")[0] for name, _ in files})
        places = tops if len(tops) <= _MOST_NAMES and not any(map(globs.is_pattern, tops)) else [""]
        self._declare(Direction.OUTPUT, [Source(datastore=store.name, path=path) for path in places])
        there: set[str] = set()
        if not request.get("overwrite"):
            there = {item.name for path in places for item in self._listing(store.name, path)}
        going = [(name, path) for name, path in files if name not in there]
        return {
            "count": len(going),
            "size": self._store(store.name, going),
            "there": len(files) - len(going),
            "path": base,
            "left_out": names.left_out(odd),
        }

    def _files(self, request: Request, base: str) -> tuple[list[tuple[str, Path]], list[str]]:
        """The files to upload by their paths in the datastore, and the names that are not possible there. All are checked before
        the first is sent."""
        given = request.get("files")
        if not isinstance(given, list) or not given:
            raise InvalidInput(f"`files` must be a list of [name, path], got {str(given)[:80]!r}.")
        found: dict[str, Path] = {}
        odd: list[str] = []
        for pair in given:
            if not (isinstance(pair, list) and len(pair) == 2):
                raise InvalidInput(f"`files` must be a list of [name, path], got {str(pair)[:80]!r} in it.")
            if isinstance(pair[0], str) and names.problem(pair[0]) in names.ODD:
                odd.append(pair[0])
                continue
            name, path = names.path(pair[0]), self._door.reach(absolute(pair[1]))
            if not os.path.isfile(path):
                raise InvalidInput(
                    f"There is no file {pair[1]!r} to upload.", hint="Is it there still, where the run's agent sees it?"
                )
            if not os.access(path, os.R_OK):
                raise InvalidInput(f"The file {pair[1]!r} may not be read.", hint="Look at who may read it.")
            found[names.path(f"{base}/{name}" if base else name)] = path
        if not found:
            raise InvalidInput("There is no file to upload.", hint=names.left_out(odd))
        if len(found) + len(odd) < len(given):
            raise InvalidInput(
                f"{len(given)} files would be stored under {len(found)} names.",
                hint="Give relative_root to keep them apart.",
            )
        return list(found.items()), odd

    def _store(self, datastore: str, files: storing.Parcel) -> int:
        """Uploads without a check for existing files: the caller has made it."""

        def deliver(send: Callable[[], object]) -> None:
            self._meanwhile()
            send()

        try:
            return storing.store(self._link.client, self._workspace, datastore, files, deliver=deliver, links=False)
        except OSError as error:
            raise InvalidInput(f"{error.filename!r} cannot be read: {error.strerror or error}.") from None

    def _download(self, request: Request) -> object:
        """Downloads files into a folder of the script, each under its path in the datastore."""
        name, prefix = checked_datastore(request.get("name")), globs.checked(_text(request, "prefix"))
        asked = absolute(request.get("path"))
        folder = self._door.reach(asked)
        self._declare(Direction.INPUT, [Source(datastore=name, path=prefix)])
        found = self._listing(name, prefix)
        wanted = [item for item in found if request.get("overwrite") or not os.path.exists(folder / item.name)]
        with _written(folder, asked), Cache.of_node(self._folder.home) as cache:
            with held(folder):  # before the first download: the folder may not be writable
                pass
            paths = fetch(
                wanted,
                cache,
                folder,
                meanwhile=self._meanwhile,
                locate=lambda: locate(self._access),
                again=lambda: self._listing(name, prefix),
                links=False,
            )
            size = sum(path.stat(follow_symlinks=False).st_size for path in paths)
        return {"count": len(wanted), "size": size, "there": len(found) - len(wanted)}

    def _listing(self, datastore: str, path: str) -> list[Item]:
        """The files that match a path or pattern, by their paths in the datastore."""
        params = {"path": path, "shared": "true" if self._link.carrier.shared is not None else "false"}
        route = self._route("datastores", datastore, "items")
        answer = self._link.client.call("GET", route, params=params, timeout=_SECONDS)
        return [decode(Item, each) for each in answer["items"]]

    # ---- datasets

    def _make(self, request: Request) -> object:
        """The definition in its regular form; with `validate`, raises when it has no files now."""
        definition = definition_of(request)
        if any(source.datastore for source in definition.sources):
            self._declare(Direction.INPUT, definition)
        if request.get("validate") and not self._data.items(definition):
            raise nothing_there(definition)
        return encode(definition)

    def _register(self, request: Request) -> object:
        route = self._route("datasets", checked_name(request.get("name")))
        body = {
            "definition": encode(definition_of(request)),
            "description": _text(request, "description"),
            "tags": request.get("tags") or {},
            "create_new_version": bool(request.get("create_new_version")),
        }
        return self._link.client.call("PUT", route, json=body)

    def _declare(self, direction: Direction, what: Definition | Sequence[Source]) -> None:
        definition = what if isinstance(what, Definition) else Definition(sources=tuple(what))
        body = {"direction": direction.value, "definition": encode(definition)}
        self._link.client.call("POST", self._link.path("datasets"), json=body)

    def _route(self, *parts: str) -> str:
        return path_of("workspaces", self._workspace, *parts)


@contextlib.contextmanager
def _written(folder: Path, asked: Path) -> Iterator[None]:
    """Names the script's own path in errors about the folder."""
    try:
        yield
    except OSError as error:
        if folder.is_file():
            raise InvalidInput(f"{asked} is a file; data is downloaded into a folder.", hint=_ELSEWHERE) from None
        where = str(error.filename2 or error.filename or folder).replace(str(folder), str(asked))
        words = f"{where} cannot be written: {error.strerror or error}."
        if error.errno in NO_ROOM:
            raise DiskFull(words, hint="Free some room there.") from None
        raise InvalidInput(words, hint=_ELSEWHERE) from None


def _text(request: Request, field: str) -> str:
    value = request.get(field) or ""
    if not isinstance(value, str):
        raise InvalidInput(f"`{field}` must be text, got {type(value).__name__}.")
    return value
