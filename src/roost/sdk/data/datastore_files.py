"""Files into and out of a datastore. A folder on this machine is written directly; other datastores go through the control
plane.
"""

import contextlib
import errno
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roost.blobs.copying import copy
from roost.domain import codec, globs, names
from roost.domain.datastores import OWN, DatastoreKind, Item, missing_folder
from roost.domain.errors import Conflict, DiskFull, InvalidInput
from roost.machine import umasks
from roost.sdk import late
from roost.sdk.core import upload_messages
from roost.transport import storing
from roost.transport.client import path_of
from roost.transport.parallel import Look, in_parallel
from roost_job.data import local_files

if TYPE_CHECKING:
    from roost.sdk.data.datastores import Datastore

_AT_ONCE = 4
_EVERY = 0.5


def listing(datastore: "Datastore", path: str = "") -> list[Item]:
    """The files that match a path or pattern."""
    connection = datastore.workspace._connection
    params = {"path": path, "shared": "true" if connection.bytes.shared else "false"}
    route = path_of("workspaces", datastore.workspace.name, "datastores", datastore.name, "items")
    answer = connection.client.call("GET", route, params=params)
    upload_messages.once(str(answer.get("left_out") or ""))
    return [codec.decode(Item, each) for each in answer["items"]]


def below(datastore: "Datastore", path: str) -> list[Item]:
    """The files below a folder. A folder with `*` or `?` in its name is preferred to the name as a pattern."""
    plain = globs.checked(path)
    if globs.is_pattern(plain):
        every = listing(datastore, plain if plain.endswith("**") else f"{plain}/**")
        if named := [item for item in every if item.name.startswith(f"{plain}/")]:
            return named
    return listing(datastore, path)


def require_one_place(path: str) -> None:
    """Raises InvalidInput for a pattern, which does not name a single folder."""
    if globs.is_pattern(path):
        raise InvalidInput(f"{path!r} is a pattern; files are uploaded to a folder.", hint="Leave out `*` and `?`.")


def folder(src_dir: str | os.PathLike[str], pattern: str | None = None) -> list[tuple[Path, str]]:
    """The files of a folder with their paths in it; only those that match the pattern, if there is one."""
    found = [(Path(path), name) for path, name in local_files.folder(src_dir, pattern)]
    odd = [name for _, name in found if names.problem(name)]
    if len(odd) == len(found):
        raise InvalidInput(f"There is no file to upload in {str(src_dir)!r}.", hint=names.left_out(odd))
    upload_messages.once(names.left_out(odd))
    return [(path, name) for path, name in found if not names.problem(name)] if odd else found


def chosen(files: Sequence[str | os.PathLike[str]], relative_root: str | None) -> list[tuple[Path, str]]:
    """Files with their names, relative to the given root or the root that they share."""
    return [(Path(path), name) for path, name in local_files.chosen(files, relative_root)]


def upload(
    datastore: "Datastore",
    files: Sequence[tuple[Path, str]],
    target: str,
    *,
    overwrite: bool,
    show_progress: bool,
    otherwise: str = "overwrite=True",
) -> list[str]:
    """Returns the paths written in the datastore; existing files are skipped unless `overwrite`. `otherwise` is the caller's
    hint for replacing them."""
    if datastore._record.read_only:
        raise Conflict(f"Datastore {datastore.name!r} is read only.", hint="Upload to another one.")
    local_files.require_seen(target)
    base = globs.checked(target)
    wanted = [(path, names.path(f"{base}/{name}" if base else name)) for path, name in files]
    local_files.require_apart([name for _, name in wanted])
    there = set() if overwrite else {item.name for item in below(datastore, base)}
    going = [(path, name) for path, name in wanted if name not in there]
    told = _Told("Uploaded", len(going), sum(path.stat().st_size for path, _ in going), show_progress)
    if show_progress and len(going) < len(wanted):
        local_files.say(local_files.stayed(len(wanted) - len(going), datastore.name, otherwise))
    _store(datastore, going, told)
    told.end()
    return [name for _, name in going]


def download(datastore: "Datastore", target: str, prefix: str, *, overwrite: bool, show_progress: bool) -> int:
    """Downloads to the folder, each file under its path in the datastore; returns their number."""
    root = Path(local_files.absolute("target_path", target))
    there = below(datastore, prefix)
    found = [item for item in there if overwrite or not (root / item.name).exists()]
    if show_progress:
        local_files.say_of_download(datastore.name, prefix, len(there), len(there) - len(found), str(root))
    bring(datastore, found, root, lambda: below(datastore, prefix), show_progress)
    return len(found)


def bring(
    datastore: "Datastore", items: Sequence[Item], root: Path, again: Callable[[], Sequence[Item]], show_progress: bool
) -> list[Path]:
    connection = datastore.workspace._connection
    told = _Told("Downloaded", len(items), sum(item.size or 0 for item in items), show_progress)
    made = late.fetching.fetch(
        items, None, root, told.at, locate=connection._locate, again=again, say=upload_messages.once
    )
    if any(item.size is None for item in items):  # its server did not report it
        told.size = sum(path.stat().st_size for path in made)
    told.end()
    return made


def _store(datastore: "Datastore", files: Sequence[tuple[Path, str]], told: "_Told") -> None:
    connection = datastore.workspace._connection
    if datastore._record.kind is not DatastoreKind.FOLDER or not connection.bytes.shared:
        named = [(name, path) for path, name in files]
        storing.store(connection.client, datastore.workspace.name, datastore.name, named, sent=told.add)
        return
    root = Path(datastore._record.settings["path"])
    if datastore.name not in OWN and not root.is_dir():
        raise missing_folder(str(root))

    def one(file: tuple[Path, str], look: Look) -> None:
        told.add(_copy(file[0], root / file[1], look, private=datastore.name in OWN))

    in_parallel(one, files, _AT_ONCE, "roost-upload")


def _copy(source: Path, target: Path, look: Look, *, private: bool) -> int:
    """Copies a complete file or none; returns its size."""
    part = target.with_name(f"{names.PART}{secrets.token_hex(8)}")
    try:
        umasks.make_folder(target.parent, private=private)
        with source.open("rb") as given, open(umasks.make_file(part, private=private), "wb") as made:
            size = os.fstat(given.fileno()).st_size
            copy(given.fileno(), made.fileno(), size, lambda _: look())
        part.replace(target)
        return size
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        words = f"{target} cannot be written: {error.strerror or error}."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(words, hint="Free some room there.") from error
        raise Conflict(words, hint="Look at the folder of the datastore, and at who may write to it.") from None


class _Told:
    """Shows progress: one line that is overwritten on a terminal, only the last one elsewhere."""

    def __init__(self, deed: str, files: int, size: int, shown: bool) -> None:
        self._deed, self._files, self.size, self._shown = deed, files, size, shown
        self._bytes = 0
        self._said_at = time.monotonic()
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        with self._lock:
            self.at(self._bytes + size, self.size)

    def at(self, done: int, size: int) -> None:
        self._bytes = done
        if self._shown and sys.stderr.isatty() and time.monotonic() - self._said_at > _EVERY:
            self._said_at = time.monotonic()
            print(
                f"\r{local_files.megabytes(done)} of {local_files.megabytes(size)}", end="", file=sys.stderr, flush=True
            )

    def end(self) -> None:
        if self._shown:
            start = "\r" if sys.stderr.isatty() else ""
            local_files.say(start + local_files.done(self._deed, self._files, self.size))
