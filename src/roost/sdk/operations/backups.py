"""Back-up and restore on the client's side. `save` writes the control plane's stream; `restore` fills an empty home.

Everything is checked: the rows by their hash, each blob by its name, and completeness. Rows are put in place last, so that an
interrupted restore can be repeated and never looks complete.
"""

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from blake3 import blake3

from roost.blobs.base import WrongHash
from roost.blobs.folder import FolderBlobs
from roost.domain.errors import Conflict, Incompatible, InvalidInput, NotFound
from roost.sdk.connection import discovery
from roost.sdk.connection.connections import Connection
from roost.transport.client import Progress

FORMAT = 1
_PIECE = 1024 * 1024
_LONG = 3600.0
_BESIDE_ROWS = (".mark", "-wal", "-shm")
_HEAD, _ROWS, _VAULT, _BLOBS = "backup.json", "roost.db", "vault.key", "blobs/"


@dataclass(kw_only=True)
class Summary:
    """The content of a back-up."""

    path: str
    bytes: int
    made_at: float
    version: str
    workspaces: list[str] = field(default_factory=list)
    runs: int = 0
    blobs: int = 0


def save(connection: Connection, target: Path, progress: Progress) -> Summary:
    """Writes a back-up of all data of the control plane: complete or not at all, readable by this user only."""
    if not target.parent.is_dir():
        raise InvalidInput(f"There is no folder {target.parent} to write {target.name} to.")
    connection.client.download("/api/backup", target, timeout=_LONG, mode=0o600, progress=progress)
    return inspect(target)


def inspect(path: Path) -> Summary:
    """The summary in a back-up; raises InvalidInput when the file is none."""
    with _opened(path) as file, _reading(path):
        return _summary(path, _head(path, file))


def restore(path: Path, home: Path, progress: Progress) -> Summary:
    """Fills an empty home. Raises InvalidInput for a damaged file or one that is no back-up, Conflict for a home in use."""
    with _opened(path) as file, _reading(path):
        _check_empty(home)
        head = _head(path, file)
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"The folder {home} cannot be made: {error.strerror}.") from None
        rows, vault = home / ".restored.db", home / ".restored.key"
        try:
            count = _unpack(path, file, home, {_ROWS: rows, _VAULT: vault}, progress)
            if count != head["blobs"]["count"]:
                raise _damaged(path, f"it holds {count} of {head['blobs']['count']} blobs")
            _check(path, _ROWS, rows, head["rows"])
            if head.get("vault"):
                _check(path, _VAULT, vault, head["vault"])
                vault.replace(home / _VAULT)
            for ending in _BESIDE_ROWS:  # of an earlier database, and invalid for this one
                (home / f"{_ROWS}{ending}").unlink(missing_ok=True)
            rows.replace(home / _ROWS)
        finally:
            rows.unlink(missing_ok=True)
            vault.unlink(missing_ok=True)
        return _summary(path, head)


def _unpack(path: Path, file: IO[bytes], home: Path, plain: dict[str, Path], progress: Progress) -> int:
    """Writes the content of the back-up; returns the number of blobs."""
    blobs, count = FolderBlobs(home / "blobs"), 0
    total = path.stat().st_size
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                raise _damaged(path, f"{member.name!r} is not a file")
            if member.name in plain:
                _write(plain[member.name], content)
            elif member.name.startswith(_BLOBS):
                blobs.put_stream(_pieces(content), expected=member.name.removeprefix(_BLOBS))
                count += 1
            progress(min(total, member.offset_data + member.size), total)
    return count


def _check_empty(home: Path) -> None:
    record = discovery.read_record(home)
    if record is not None and discovery.is_alive(record):
        raise Conflict(
            f"A control plane runs in {home} (process {record.pid}); a back-up is restored into an empty home.",
            hint="roost restore FILE --into NEW_FOLDER, then ROOST_HOME=NEW_FOLDER roost up",
        )
    if (home / _ROWS).exists():
        raise Conflict(
            f"{home} has a database already; a back-up is restored into an empty home.",
            hint="roost restore FILE --into NEW_FOLDER, or move that home away first.",
        )


def _head(path: Path, file: IO[bytes]) -> dict[str, Any]:
    with tarfile.open(fileobj=file, mode="r:") as archive:
        first = archive.next()
        content = archive.extractfile(first) if first is not None and first.name == _HEAD else None
        head = json.loads(content.read()) if content is not None else None
    file.seek(0)
    if not isinstance(head, dict) or "format" not in head:
        raise InvalidInput(f"{path} is not a back-up of Roost.", hint="`roost backup FILE` makes one.")
    if head["format"] != FORMAT:
        raise Incompatible(
            f"{path} is a back-up of format {head['format']} (Roost {head.get('version')}); this Roost reads format {FORMAT}.",
            hint="Restore it with the version that made it.",
        )
    return head


def _summary(path: Path, head: dict[str, Any]) -> Summary:
    return Summary(
        path=str(path),
        bytes=path.stat().st_size,
        made_at=float(head["made_at"]),
        version=str(head["version"]),
        workspaces=[str(name) for name in head["workspaces"]],
        runs=int(head["runs"]),
        blobs=int(head["blobs"]["count"]),
    )


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        what = "a folder, not a file" if path.is_dir() else "not there"
        raise NotFound(
            f"The back-up {path} is {what} (looked from {Path.cwd()}).",
            hint="Give a file that `roost backup FILE` wrote.",
        ) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None


class _reading:  # noqa: N801 reads as the block it opens
    """Turns every error with the file in this block into a clear message."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, tarfile.TarError | EOFError | KeyError | TypeError):
            raise _damaged(self._path, str(error) or type(error).__name__) from None
        if isinstance(error, ValueError):
            raise _damaged(self._path, f"its description cannot be read: {error}") from None
        if isinstance(error, WrongHash):
            raise _damaged(self._path, error.message) from None


def _damaged(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is damaged, or not a back-up of Roost: {why.rstrip('.')}.",
        hint="Nothing was put in place. Copy the file again, or take an older back-up.",
    )


def _check(path: Path, name: str, written: Path, said: dict[str, Any]) -> None:
    if not written.exists():
        raise _damaged(path, f"{name} is not in it")
    hasher = blake3()
    hasher.update_mmap(written)
    if (written.stat().st_size, hasher.hexdigest()) != (said["bytes"], said["blake3"]):
        raise _damaged(path, f"{name} has another hash than the one written down when it was made")


def _write(target: Path, content: IO[bytes]) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for piece in _pieces(content):
            file.write(piece)


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: content.read(_PIECE), b"")
