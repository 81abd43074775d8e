"""A folder of the control plane's machine. A shared server gives no access outside the allowed roots, not even by links; no
server gives access to its home, which has its token, database and key. This is checked on the open file, since a link may change.

A file is written beside its final path and then renamed. A killed writer's file is removed by the next listing of its folder once
it is a day old; the control plane's own folders are swept too.
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from roost.blobs.copying import write_all
from roost.blobs.pieces import FilePieces
from roost.domain.datastores import missing_folder
from roost.domain.errors import Conflict, Forbidden, NotFound
from roost.domain.names import PART
from roost.machine import umasks
from roost.objects.base import Found

LEFT_SECONDS = 24 * 3600.0
"""An unfinished file that was not written to for this long was left by a killed writer."""
_LOOKS = 10
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class FolderStorage:
    def __init__(
        self,
        root: Path,
        roots: Sequence[Path] | None = None,
        *,
        home: Path | None = None,
        own: bool = False,
        read_only: bool = False,
    ) -> None:
        """`roots`: folders that links may lead into; None for all. `home`: the control plane's home, closed except for this
        storage's own folder in it. `own`: a folder of the control plane, made at the first write; any other must exist.
        `read_only`: nothing in it is changed."""
        self._root, self._own, self._read_only = root, own, read_only
        self._roots = None if roots is None else [Path(os.path.realpath(each)) for each in roots]
        self._home = None if home is None else Path(os.path.realpath(home))
        self._real_root = Path(os.path.realpath(root))

    def list(self, path: str) -> Iterator[Found]:
        start = self._place(path)
        self._require_root()
        try:
            if start.is_dir():
                yield from self._walk(str(start), f"{path}/" if path else "", frozenset())
            elif (found := self.head(path)) is not None:
                yield found
        except OSError as error:
            raise Conflict(f"{error.filename} cannot be read: {error.strerror}.") from None

    def _walk(self, folder: str, prefix: str, above: frozenset[tuple[int, int]]) -> Iterator[Found]:
        """The files below a folder, sorted by name. Links to a folder above are not followed. Entries that are gone meanwhile,
        and circular links, are skipped."""
        try:
            seen = os.stat(folder)
            if (seen.st_dev, seen.st_ino) in above:
                return
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if above and error.errno in _GONE:
                return
            raise
        for entry in entries:
            if entry.is_symlink() and not self._allowed(entry.path):
                continue
            mode = _mode(entry)
            if stat.S_ISDIR(mode):
                if self._is_home(entry):
                    continue
                yield from self._walk(entry.path, f"{prefix}{entry.name}/", above | {(seen.st_dev, seen.st_ino)})
            elif entry.name.startswith(PART):
                if not self._read_only:
                    _left(entry.path, time.time() - LEFT_SECONDS)
            elif stat.S_ISREG(mode):
                yield _found(f"{prefix}{entry.name}", entry.stat())

    def head(self, path: str) -> Found | None:
        place = self._place(path)
        try:
            return _found(path, place.stat()) if place.is_file() else None
        except OSError:
            return None

    def read(self, found: Found, offset: int, length: int) -> Iterator[bytes]:
        try:
            # Non-blocking: the file may have become a pipe meanwhile.
            file = os.open(self._place(found.path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise NotFound(f"There is no file {found.path!r} any more.") from None
        except OSError as error:
            raise Conflict(f"File {found.path!r} cannot be read: {error.strerror}.") from None
        if not self._allowed(f"/proc/self/fd/{file}"):  # a link was made after its path was checked
            os.close(file)
            raise self._outside(found.path)
        if _found(found.path, os.fstat(file)) != found:
            os.close(file)
            raise Conflict(f"File {found.path!r} became another while it was read.")
        return FilePieces(file, offset, length)

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> int:
        target = self._place(path)
        self._require_root()
        size = 0
        try:
            umasks.make_folder(target.parent, private=self._own)
            parent = self._open_folder(target.parent, path)
            part = f"{PART}{secrets.token_hex(8)}"
            try:
                file = umasks.make_file(part, private=self._own, folder=parent)
                try:
                    for piece in pieces:
                        write_all(file, piece)
                        size += len(piece)
                    os.replace(part, target.name, src_dir_fd=parent, dst_dir_fd=parent)
                except BaseException:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(part, dir_fd=parent)
                    raise
                finally:
                    os.close(file)
            finally:
                os.close(parent)
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            raise Conflict(f"{path!r} cannot be written: a file is where a folder has to be, or the reverse.") from None
        except PermissionError as error:
            raise Conflict(f"{path!r} cannot be written: {error.strerror}.") from None
        return size

    def local(self, path: str) -> str:
        return str(self._root / path)

    def addresses(self, paths: Sequence[str]) -> Sequence[str]:
        """Empty addresses: only the control plane can read files of this machine."""
        return [""] * len(paths)

    def _require_root(self) -> None:
        if not self._own and not self._root.is_dir():
            raise missing_folder(str(self._root))

    def _place(self, path: str) -> Path:
        place = self._root / path if path else self._root
        if not self._allowed(str(place)):
            raise self._outside(path)
        return place

    def _open_folder(self, folder: Path, path: str) -> int:
        """The folder for a file to write, held open, so that a link made in its place meanwhile has no effect."""
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not self._allowed(f"/proc/self/fd/{opened}"):
            os.close(opened)
            raise self._outside(path)
        return opened

    def _allowed(self, path: str) -> bool:
        real = _real(path)
        if real is None:
            return False
        own = self._own and real.is_relative_to(self._real_root)
        if self._home is not None and real.is_relative_to(self._home) and not own:
            return False
        return self._roots is None or any(real.is_relative_to(root) for root in self._roots)

    def _is_home(self, entry: os.DirEntry[str]) -> bool:
        """True for the control plane's home: an old datastore may contain it, or it may be bind-mounted at a second path."""
        if self._home is None or self._own:
            return False
        with contextlib.suppress(OSError):
            return os.path.samestat(entry.stat(), os.stat(self._home))
        return False

    def _outside(self, path: str) -> Forbidden:
        return Forbidden(f"{path!r} leads outside the folders that this server may read.")


def left(root: Path, before: float, *, keep: bool = False) -> Iterator[int]:
    """Removes unfinished files below a folder that were last written before that time; yields their sizes. `keep`: only lists."""
    for place, _, files in os.walk(root):
        for name in files:
            if name.startswith(PART) and (size := _left(os.path.join(place, name), before, keep=keep)) is not None:
                yield size


def _left(path: str, before: float, *, keep: bool = False) -> int | None:
    with contextlib.suppress(OSError):  # another process was faster, or it cannot be deleted
        seen = os.lstat(path)
        if seen.st_mtime < before:
            if not keep:
                os.unlink(path)
            return seen.st_size
    return None


def _real(path: str) -> Path | None:
    """The path with links resolved; None when it changes at every try."""
    for _ in range(_LOOKS):
        with contextlib.suppress(OSError):  # a link vanished between two steps of realpath
            return Path(os.path.realpath(path))
    return None


def _mode(entry: "os.DirEntry[str]") -> int:
    """The mode of the entry or its target; 0 when it is gone. Later calls of `entry.stat()` use the cached result."""
    try:
        return entry.stat().st_mode
    except OSError as error:
        if error.errno in _GONE:
            return 0
        raise


def _found(path: str, seen: os.stat_result) -> Found:
    return Found(path, seen.st_size, f'"{seen.st_mtime_ns:x}-{seen.st_size:x}-{seen.st_ino:x}"', seen.st_mtime)
