"""A workspace's models over HTTP: the door's model ops. The agent answers scripts with them (`roost.agent.door.models`), the SDK
calls them directly; so `Model` is one class, in jobs and outside (`roost_job.models.models`).
"""

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.domain.errors import DiskFull, InvalidModel, ModelConflict
from roost.domain.files import Entry, EntryKind, read_manifest, write_manifest
from roost.domain.models import checked_name
from roost.transport.carrying import Carrier
from roost.transport.client import Client, path_of
from roost.transport.guarded_files import OPEN_AT_ONCE, held, lay, opened

Request = Mapping[str, Any]
_ABOUT = ("datasets", "description", "properties", "resources", "sample_input", "sample_output", "tags")
_NEW = (*_ABOUT, "name", "key", "run_id", "run_path", "framework", "framework_version", "parent")
_CHANGES = (*_ABOUT, "remove_tags", "replace_tags")
_FILTERS = ("name", "run_id", "dataset_id", "framework", "limit")


class Models:
    """Start with `ask(op, **fields)`. `reach` maps the script's paths to this machine's, with links resolved; `settle` returns
    when the script's uploads have arrived; `told` is called with the number of files and bytes that were stored."""

    def __init__(
        self,
        client: Callable[[], Client],
        carrier: Callable[[], Carrier],
        workspace: str,
        reach: Callable[[Path], Path] = Path.resolve,
        settle: Callable[[], None] = lambda: None,
        told: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self._client, self._carrier, self._workspace = client, carrier, workspace
        self._reach, self._settle, self._told = reach, settle, told
        self.ops: Mapping[str, Callable[[Request], object]] = {
            "model": self._get,
            "models": self._list,
            "model_register": self._register,
            "model_change": self._change,
            "model_delete": self._delete,
            "model_download": self._download,
            "model_place": self._place,
        }

    def ask(self, op: str, **fields: Any) -> Any:
        return self.ops[op](fields)

    def _path(self, *parts: object) -> str:
        return path_of("workspaces", self._workspace, "models", *map(str, parts))

    def _get(self, request: Request) -> Any:
        params = None if request.get("version") is None else {"version": _version(request)}
        return self._client().call("GET", self._path(checked_name(request.get("name"))), params=params)

    def _list(self, request: Request) -> Any:
        params = {key: request.get(key) for key in _FILTERS}
        params["latest"] = "true" if request.get("latest") else None
        params["tag"], params["property"] = _labels(request.get("tags")), _labels(request.get("properties"))
        return self._client().call("GET", self._path(), params=params)["models"]

    def _register(self, request: Request) -> Any:
        """Registers a model from a run's files, or from files of this machine: `files` is a list of [name in the model, path]."""
        body = {key: request[key] for key in _NEW if request.get(key) is not None}
        checked_name(body.get("name"))
        given = request.get("files")
        if given is not None:
            body["manifest"] = self._carry(given, body["name"])
        else:
            self._settle()
        return self._client().call("POST", self._path(), json=body)

    def _carry(self, given: Sequence[Sequence[str]], model: str) -> str:
        """Stores new files and the manifest of all files; returns the manifest's name."""
        wanted = {names.path(name): self._reach(Path(path)) for name, path in given}
        likely = self._sizes(model)
        entries: list[Entry] = []
        paths = list(wanted.items())
        try:
            for start in range(0, len(paths), OPEN_AT_ONCE):
                some = paths[start : start + OPEN_AT_ONCE]
                with opened([path for _, path in some]) as files:
                    carried = self._carrier().carry(files, likely)
                    for (name, _), file, (content, size) in zip(some, files, carried, strict=True):
                        mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
                        entries.append(Entry(path=name, mode=mode, size=size, content=content))
                self._told(len(some), sum(size for _, size in carried))
        except OSError as error:
            raise InvalidModel(f"{error.filename} cannot be read: {error.strerror or error}.") from None
        return self._carrier().put(write_manifest(entries))

    def _sizes(self, model: str) -> frozenset[int]:
        """Sizes of the files of its newest version: a file of the same size is probably the same."""
        for newest in self._list({"name": model, "limit": 1}):
            return frozenset(entry.size for entry in self._entries(newest))
        return frozenset()

    def _change(self, request: Request) -> Any:
        body = {key: request[key] for key in _CHANGES if request.get(key) is not None}
        return self._client().call("PATCH", self._one(request), json=body)

    def _delete(self, request: Request) -> Any:
        return self._client().call("DELETE", self._one(request))["count"]

    def _one(self, request: Request) -> str:
        return self._path(checked_name(request.get("name")), _version(request))

    def _download(self, request: Request) -> list[str]:
        """Downloads its files into a folder, each whole or not at all, never through a link; returns their paths in it. Writes
        nothing when a file exists and may not be replaced."""
        entries = self._entries(self._get(request))
        folder = self._reach(Path(str(request.get("path"))))
        if not request.get("exist_ok"):
            for entry in entries:
                if os.path.lexists(folder / entry.path):
                    place = Path(str(request.get("path"))) / entry.path
                    raise ModelConflict(f"File already exists. To overwrite, set exist_ok to True. {place}")
        lay(self._carrier().source(entries), entries, folder)
        return [entry.path for entry in entries if entry.kind is not EntryKind.FOLDER]

    def _place(self, request: Request) -> list[str]:
        """Downloads its files into their own folder, which appears only when complete; an existing one stays unchanged."""
        folder = self._reach(Path(str(request.get("path"))))
        entries = self._entries(self._get(request))
        if not _filled(folder):
            part = f".{folder.name}.{os.getpid()}-{threading.get_ident()}.part"
            source = self._carrier().source(entries)
            try:
                with held(folder.parent) as place:
                    shutil.rmtree(place / part, ignore_errors=True)
                    try:
                        lay(source, entries, folder.with_name(part))
                        (place / part).rename(place / folder.name)
                    finally:
                        shutil.rmtree(place / part, ignore_errors=True)
            except OSError as error:
                if not _filled(folder):  # else another process of the run was quicker
                    raise DiskFull(f"{folder} cannot be made: {error.strerror or error}.") from None
        return [entry.path for entry in entries if entry.kind is not EntryKind.FOLDER]

    def _entries(self, record: Mapping[str, Any]) -> list[Entry]:
        return read_manifest(self._carrier().get(names.blob(record["manifest"])))


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _version(request: Request) -> int:
    given = request.get("version")
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidModel(f"{given!r} is not the version of a model.", hint="Versions count from 1.")
    return given


def _labels(wanted: object) -> list[str] | None:
    """Labels as an address has them: `k` for any value, `k=v` for that one."""
    if not isinstance(wanted, Mapping):
        return None
    return [str(key) if value is None else f"{key}={value}" for key, value in wanted.items()]
