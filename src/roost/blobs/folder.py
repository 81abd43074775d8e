"""Blobs in a folder: `ROOT/ab/abcd…`, read-only. Written to `ROOT/tmp/` first, then renamed: whole or not at all.

No fsync: after a rename, every process sees the whole file, even if programs are killed. A power cut may lose the last moments,
as for the database beside it; waiting for the disk would make every small file a hundred times slower.

A blob's time of change is its last use. A sweep moves an old blob to `tmp/` and checks that time again before it deletes, so that
a blob that any process used in between stays.
"""

import contextlib
import errno
import itertools
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from blake3 import blake3

from roost.blobs.base import Inflow, WrongHash
from roost.blobs.copying import copy, copy_hashed, hashed_behind, write_all
from roost.blobs.hashing import hash_bytes, hash_file
from roost.blobs.pieces import FilePieces
from roost.domain import names
from roost.domain.errors import DiskFull, InvalidInput, NotFound

_SMALL = 1024 * 1024  # read at once, hashed, and written only if new
_PIECE = 1024 * 1024
_READ_ONLY = 0o400
_STALE_SECONDS = 3600.0
_USED_AGAIN_SECONDS = 600.0  # a use within this time of the last one is not recorded
_SHELF = 2
_SWEPT = "swept-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class FolderBlobs:
    """Implements `roost.blobs.base.Blobs`. Any number of processes may open one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = str(root)
        self._tmp = os.path.join(self._root, "tmp")
        self._word, self._counter = secrets.token_hex(4), itertools.count()
        os.makedirs(self._root, mode=0o700, exist_ok=True)
        Path(self._tmp).mkdir(mode=0o700, exist_ok=True)
        self._sweep()

    def put(self, data: bytes) -> str:
        name = hash_bytes(data)
        self._put(name, data)
        return name

    def put_file(self, path: Path) -> tuple[str, int]:
        source = _open_regular(path)
        try:
            size = os.fstat(source).st_size
            if size <= _SMALL:
                return self._put_small(source)
            return self._put_large(source, size)
        finally:
            os.close(source)

    def put_stream(self, chunks: Iterable[bytes | memoryview] | Inflow, *, expected: str) -> int:
        if self.keep(names.blob(expected)) is None:
            return self._put_stream(chunks, expected)[1]
        name, size = _hashed(chunks, lambda _: None)
        _check(name, expected, "What was sent")
        return size

    def put_unnamed(self, chunks: Iterable[bytes | memoryview] | Inflow) -> tuple[str, int]:
        return self._put_stream(chunks, "")

    def put_fetched(self, name: str, fetch: Callable[[Path], object]) -> None:
        """Stores the file that `fetch` makes at the path it gets: moved into place, not copied."""
        path = self._new_path()
        try:
            fetch(Path(path))
            _check(hash_file(Path(path)), names.blob(name), "What was fetched")
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & _READ_ONLY)
            self._keep(path, name)
        except OSError as error:
            _raise_if_full(error, self._root)
            raise
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def get(self, name: str) -> bytes:
        try:
            with open(self._path(name), "rb", buffering=0) as file:
                return file.readall()
        except FileNotFoundError:
            raise _absent(name) from None

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        try:
            file = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _absent(name) from None
        return FilePieces(file, offset, limit)

    def size(self, name: str) -> int | None:
        try:
            return os.stat(self._path(name)).st_size
        except FileNotFoundError:
            return None

    def keep(self, name: str) -> int | None:
        path = self._path(name)
        try:
            found = os.stat(path)
            if time.time() - found.st_mtime > _USED_AGAIN_SECONDS:
                with contextlib.suppress(PermissionError):  # another user's folder: its owner sweeps, with a grace
                    os.utime(path)
            return found.st_size
        except FileNotFoundError:
            return None

    def missing(self, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if self.keep(name) is None]

    def walk(self) -> Iterator[tuple[str, int, float]]:
        with os.scandir(self._root) as folders:
            places = [folder.path for folder in folders if len(folder.name) == _SHELF and folder.is_dir()]
        for place in sorted(places):
            with os.scandir(place) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield entry.name, found.st_size, found.st_mtime

    def discard(self, name: str, *, unless_since: float) -> int | None:
        path, aside = self._path(name), f"{self._tmp}/{_SWEPT}{name}"
        try:
            if os.stat(path).st_mtime >= unless_since:
                return None
            os.rename(path, aside)
            found = os.stat(aside)
            if found.st_mtime >= unless_since:
                os.rename(aside, path)
                return None
            os.unlink(aside)
        except FileNotFoundError:  # another process swept it, or put it back
            return None
        return found.st_size

    def copy_to(self, name: str, target: Path, mode: int, progress: Callable[[int], None] = lambda _: None) -> None:
        try:
            source = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _absent(name) from None
        try:
            copied = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                copy(source, copied, os.fstat(source).st_size, progress)
                os.fchmod(copied, mode)
            finally:
                os.close(copied)
        except OSError as error:
            _raise_if_full(error, str(target))
            raise
        finally:
            os.close(source)

    def _path(self, name: str) -> str:
        names.blob(name)
        return f"{self._root}/{name[:2]}/{name}"

    def _put(self, name: str, data: bytes) -> None:
        if self.keep(name) is None:
            with self._temporary() as (temporary, target):
                write_all(target, data)
                self._keep(temporary, name)

    def _put_small(self, source: int) -> tuple[str, int]:
        data = os.read(source, _SMALL + 1)
        while piece := os.read(source, _PIECE):  # it grew, or the file system returned less than requested
            data += piece
        name = hash_bytes(data)
        self._put(name, data)
        return name, len(data)

    def _put_large(self, source: int, size: int) -> tuple[str, int]:
        with self._temporary() as (temporary, target):
            name, copied = copy_hashed(source, target, size)
            if self.keep(name) is None:
                self._keep(temporary, name)
        return name, copied

    def _put_stream(self, chunks: Iterable[bytes | memoryview] | Inflow, expected: str) -> tuple[str, int]:
        with self._temporary() as (temporary, target):
            if isinstance(chunks, Inflow):
                inflow = chunks
                name, size = hashed_behind(target, lambda progress: inflow.pour(target, progress))
            else:
                name, size = _hashed(chunks, lambda chunk: write_all(target, chunk))
            _check(name, expected, "What was sent")
            if self.keep(name) is None:
                self._keep(temporary, name)
        return name, size

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[tuple[str, int]]:
        """A new file under `tmp/`, deleted afterwards unless it was moved into place."""
        path = self._new_path()
        try:
            target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _READ_ONLY)
            try:
                yield path, target
            finally:
                os.close(target)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        except OSError as error:
            _raise_if_full(error, self._root)
            raise

    def _new_path(self) -> str:
        # With the process id, since a fork inherits word and counter.
        return f"{self._tmp}/{os.getpid()}-{self._word}-{next(self._counter)}"

    def _keep(self, temporary: str, name: str) -> None:
        target = self._path(name)
        try:
            os.rename(temporary, target)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            os.rename(temporary, target)

    def _sweep(self) -> None:
        """Removes files of killed processes, but nothing that was written within the hour. A recently used blob that a killed
        sweep left in `tmp/` goes back to its place."""
        with os.scandir(self._tmp) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process swept it
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS:
                        os.unlink(entry.path)
                    elif entry.name.startswith(_SWEPT):
                        os.rename(entry.path, self._path(entry.name.removeprefix(_SWEPT)))


def _hashed(chunks: Iterable[bytes | memoryview], each: Callable[[bytes | memoryview], object]) -> tuple[str, int]:
    """Hash and size of all chunks; also passes each chunk to `each`."""
    hasher, size = blake3(max_threads=blake3.AUTO), 0
    for chunk in chunks:
        hasher.update(chunk)
        size += len(chunk)
        each(chunk)
    return hasher.hexdigest(), size


def _open_regular(path: Path) -> int:
    try:
        # Non-blocking: a pipe would block for ever.
        source = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise InvalidInput(f"File {str(path)!r} cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(source).st_mode):
        os.close(source)
        raise InvalidInput(f"{str(path)!r} is not a file.", hint="Folders are stored file by file.")
    return source


def _check(name: str, expected: str, what: str) -> None:
    if expected and name != expected:
        raise WrongHash(f"{what} has the hash {name}, not {expected}.", hint="It changed on the way; try again.")


def _absent(name: str) -> NotFound:
    return NotFound(f"There is no blob {name}.")


def _raise_if_full(error: OSError, where: str) -> None:
    if error.errno in _NO_ROOM:
        raise DiskFull(f"No room left on the disk of {where}.", hint="Free some space there and try again.") from error
