"""Datasets on this node: lists the current files of a dataset and brings them here through the node's cache. Used to lay out a
run's inputs, and by the door's dataset ops, which answer a script with paths.
"""

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roost.agent.door.children import absolute
from roost.agent.folder import Folder
from roost.agent.link import Link, locate
from roost.data.cache import Cache
from roost.data.fetching import Progress, fetch
from roost.data.mounting import Mount, mount
from roost.data.resolving import resolve
from roost.data.steps import whole
from roost.domain.codec import decode, encode
from roost.domain.datasets import Definition, checked, checked_name
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.plans import Access, Plan
from roost.transport.client import path_of

Request = Mapping[str, Any]
Meanwhile = Callable[[], None]
Tell = Callable[[str], None]
_LISTING_SECONDS = 600.0
"""How long the control plane may take to list a dataset: it queries an object store for each source."""


@dataclass
class _Shared:
    """A folder where a dataset is mounted, with its number of users. Changed under `lock`, so that others wait for the mount."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    definition: Definition | None = None
    mount: Mount | None = None


class Datasets:
    """Safe for threads. `meanwhile` is called during transfers, and raises once they are not wanted any more; `tell` gets later
    errors of a mount; `reach` maps a path of the script to one of this node."""

    def __init__(
        self,
        folder: Folder,
        plan: Plan,
        access: Access,
        link: Link,
        meanwhile: Meanwhile,
        tell: Tell,
        reach: Callable[[Path], Path],
    ) -> None:
        self._folder, self._plan, self._access, self.link = folder, plan, access, link
        self._meanwhile, self._tell, self._reach = meanwhile, tell, reach
        self._lock = threading.Lock()
        self._made: Cache | None = None
        self._mounts: dict[str, _Shared] = {}
        self._said: set[str] = set()
        self.contained = False
        """True when the script sees only its own folder: files are then copied there, not mounted or linked."""
        self.ops: Mapping[str, Callable[[Request], object]] = {
            "dataset": self._dataset,
            "dataset_names": self._names,
            "dataset_items": self._items,
            "dataset_files": self._files,
            "dataset_download": self._download,
            "dataset_mount": self._mount,
            "dataset_unmount": self._unmount,
        }

    # ---- for inputs

    def items(self, definition: Definition) -> list[Item]:
        """Its files as they are now."""
        return resolve(definition, self._ask, cache=self._cache(), meanwhile=self._meanwhile)

    def bring(
        self, definition: Definition, items: Sequence[Item], target: Path | None, progress: Progress = lambda *_: None
    ) -> list[Path]:
        """Brings the files to this node: into the cache, or as copies into a folder. Links that a container made there are not
        followed."""
        return fetch(
            items,
            self._cache(),
            self._real(target) if target and self.contained else target,
            progress,
            self._meanwhile,
            locate=lambda: locate(self._access),
            again=lambda: self.items(definition),  # signed addresses expire
            links=not self.contained,
        )

    def mount(
        self,
        definition: Definition,
        items: Sequence[Item],
        target: Path,
        progress: Progress = lambda *_: None,
        called: str = "",
    ) -> Mount:
        """The files as a folder, shared by all requests for the same target. It is unmounted by `close`, or after its last user.
        `called`: its name in the run's log."""
        with self._lock:
            shared = self._mounts.setdefault(str(target), _Shared())
        with shared.lock:
            if shared.mount is None:
                shared.definition = definition
                shared.mount = mount(
                    items,
                    target,
                    self._cache(),
                    progress=progress,
                    meanwhile=self._meanwhile,
                    locate=lambda: locate(self._access),
                    again=lambda: self.items(definition),
                    tell=self._tell,
                )
                shared.mount.at_change = lambda what, why: self._tell(
                    f"{called or target}: {what} while the run was going: {why}; as_download() gives copies."
                )
                if called:  # its folder goes with the run
                    shared.mount.at_left = lambda names: self._tell(f"{called}: {_lost(names)}")
            elif shared.definition != definition:
                raise Conflict(f"Another dataset is mounted at {target}.", hint="Give a new folder.")
            shared.users += 1
            return shared.mount

    def pids(self) -> list[int]:
        """Ids of the processes that serve the mounts."""
        with self._lock:
            mounts = [each.mount for each in self._mounts.values() if each.mount is not None]
        return [pid for each in mounts if (pid := each.pid) is not None]

    def close(self) -> None:
        """Unmounts everything and releases the cache. Safe twice."""
        with self._lock:
            mounts, self._mounts = self._mounts, {}
            cache, self._made = self._made, None
        for each in mounts.values():
            if each.mount is not None:
                each.mount.close()
        if cache is not None:
            cache.close()

    def _cache(self) -> Cache:
        with self._lock:
            if self._made is None:
                self._made = Cache.of_node(self._folder.home)
            return self._made

    def _ask(self, definition: Definition) -> Mapping[str, Sequence[Any]]:
        """The control plane's listing; no request is sent when the dataset uses no datastore."""
        if not any(source.datastore for source in definition.sources):
            return {"items": [], "urls": list(range(len(definition.sources)))}
        body = {"definition": encode(definition), "shared": self.link.carrier.shared is not None}
        route = path_of("workspaces", self._plan.workspace, "datasets", "items")
        answer: Mapping[str, Sequence[Any]] = self.link.client.call("POST", route, json=body, timeout=_LISTING_SECONDS)
        left_out = str(answer.get("left_out") or "")
        if left_out and left_out not in self._said:
            self._said.add(left_out)
            self._tell(left_out)
        return answer

    # ---- for the door

    def _dataset(self, request: Request) -> object:
        """A registered dataset, by its id or by its name and version."""
        place = ("workspaces", self._plan.workspace, "datasets")
        if request.get("id"):
            return self.link.client.call("GET", path_of(*place, "by-id", str(request["id"])))
        version = request.get("version")
        params = None if version is None else {"version": int(version)}
        return self.link.client.call("GET", path_of(*place, checked_name(request.get("name"))), params=params)

    def _names(self, _: Request) -> object:
        route = path_of("workspaces", self._plan.workspace, "datasets")
        return [each["name"] for each in self.link.client.call("GET", route)["datasets"]]

    def _items(self, request: Request) -> object:
        return [[item.name, whole(item)] for item in self.items(definition_of(request))]

    def _files(self, request: Request) -> object:
        definition = definition_of(request)
        items = _chosen(self.items(definition), request.get("names"))
        paths = self.bring(definition, items, self._own_folder(definition) if self.contained else None)
        return [[item.name, str(path), whole(item)] for item, path in zip(items, paths, strict=True)]

    def _download(self, request: Request) -> object:
        definition, asked = definition_of(request), absolute(request.get("path"))
        folder = self._reach(asked)
        items = self.items(definition)
        there = [item for item in items if os.path.lexists(folder / item.name)]
        if there and not request.get("overwrite"):
            raise Conflict(
                f"{asked / there[0].name} is there already.", hint="Give overwrite=True to replace what is there."
            )
        self.bring(definition, items, folder)
        return [str(asked / item.name) for item in items]

    def _mount(self, request: Request) -> object:
        definition = definition_of(request)
        asked = absolute(request["path"]) if request.get("path") else None
        items = self.items(definition)
        if not self.contained:
            place = asked or self._own_folder(definition)
            return str(self.mount(definition, items, place).folder)
        self.bring(definition, items, self._reach(asked) if asked else self._own_folder(definition))
        return str(asked or self._own_folder(definition))

    def _unmount(self, request: Request) -> object:
        with self._lock:
            shared = self._mounts.get(str(request.get("path")))
        if shared is not None:
            with shared.lock:
                shared.users = max(0, shared.users - 1)
                if not shared.users and shared.mount is not None:
                    shared.mount.close()
                    shared.mount = None
        return None

    def _real(self, target: Path) -> Path:
        """A path inside the run's folder, with the links above that folder resolved: those are the machine's own."""
        root = self._folder.root
        return Path(os.path.realpath(root)) / target.relative_to(root) if target.is_relative_to(root) else target

    def _own_folder(self, definition: Definition) -> Path:
        """The folder of this dataset for requests that name no target."""
        text = json.dumps(encode(definition), sort_keys=True)
        return self._folder.inputs / f".{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def definition_of(request: Request) -> Definition:
    given = request.get("definition")
    if not isinstance(given, Mapping):
        raise InvalidInput(f"`definition` must be an object, got {type(given).__name__}.")
    return checked(decode(Definition, given))


def _chosen(items: Sequence[Item], names: object) -> Sequence[Item]:
    """The items with these names, in that order; all items without names."""
    if names is None:
        return items
    if not isinstance(names, list):
        raise InvalidInput(f"`names` must be a list, got {type(names).__name__}.")
    known = {item.name: item for item in items}
    if gone := [name for name in names if name not in known]:
        raise NotFound(f"{gone[0]} is not there any more.", hint="It was when the dataset was listed.")
    return [known[name] for name in names]


def _lost(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more were" if len(names) > 1 else " was"
    return f"{names[0]}{more} written there and reached no datastore: a mount is for reading, write to an output."


def clear(folder: Folder) -> None:
    """Unmounts what a lost agent has left mounted."""
    from roost.data import supervising  # noqa: PLC0415 - for whoever comes after an agent that was killed

    with contextlib.suppress(OSError):
        supervising.clear(folder.root)
