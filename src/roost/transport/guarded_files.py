"""Files that a job may change meanwhile: a job in a container must not make the agent read or write where the job itself cannot.
So no link is ever followed, even one made during the operation.
"""

import contextlib
import errno
import os
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import DiskFull, InvalidInput
from roost.domain.files import Entry, EntryKind
from roost.machine import umasks

OPEN_AT_ONCE = 200
"""The most files held open together: a process may have a thousand."""
_BY_STEPS = sys.platform == "linux"
"""Other systems run only clients, where only the user changes files: paths are used unchecked."""
_LOOK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if _BY_STEPS else 0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC if _BY_STEPS else 0


@contextlib.contextmanager
def held(folder: Path) -> Iterator[Path]:
    """A folder by its full path without links, made if necessary. Yields a path that stays valid for this folder even if the
    given path changes. InvalidInput when a part of the path is a link."""
    if not _BY_STEPS:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    current = _walk(folder, make=True)
    try:
        yield _named(current)
    finally:
        os.close(current)


@contextlib.contextmanager
def opened(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Files by their full paths without links, at most `OPEN_AT_ONCE`. Yields paths that stay valid for these files even if the
    given paths change. InvalidInput when a part of a path is a link, OSError when it is not a readable file."""
    with contextlib.ExitStack() as stack:
        found: list[Path] = [] if _BY_STEPS else list(paths)
        for path in paths if _BY_STEPS else ():
            file = _open(path)
            stack.callback(os.close, file)
            found.append(_named(file))
        yield found


def _open(path: Path) -> int:
    folder = _walk(path.parent, make=False)
    try:
        file = os.open(path.name, _READ, dir_fd=folder)
    except OSError as error:
        raise _told(error, path) from None
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "Not a plain file", str(path))
    return file


def _walk(folder: Path, *, make: bool) -> int:
    place = Path("/")
    current = os.open(place, _LOOK)
    for part in folder.parts[1:]:
        place /= part
        before = current
        try:
            current = _step(before, part, make=make)
        except OSError as error:
            raise _told(error, place) from None
        finally:
            os.close(before)
    return current


def _step(parent: int, part: str, *, make: bool) -> int:
    if make:
        with contextlib.suppress(FileNotFoundError):
            return os.open(part, _LOOK, dir_fd=parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
            umasks.open_up(f"/proc/self/fd/{parent}/{part}", 0o777)
    return os.open(part, _LOOK, dir_fd=parent)


def _told(error: OSError, place: Path) -> OSError | InvalidInput:
    """The error with its path; the kernel's different errors for a link become one InvalidInput."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP) and place.is_symlink():
        return InvalidInput(
            f"{str(place)!r} is a link, and none is followed here.", hint="Take it away, or name another path."
        )
    return OSError(error.errno, error.strerror, str(place))


def _named(file: int) -> Path:
    return Path(f"/proc/self/fd/{file}")


def lay(source: FolderBlobs, entries: Sequence[Entry], folder: Path) -> None:
    """Writes the entries below a folder, given by its full path without links; replaces each file whole or not at all."""
    mark = f".{os.getpid()}-{threading.get_ident()}.part"
    where = folder
    try:
        with held(folder):
            pass
        for entry in sorted(entries, key=lambda each: each.kind is EntryKind.LINK):
            where = folder / entry.path
            with held(where if entry.kind is EntryKind.FOLDER else where.parent) as place:
                if entry.kind is not EntryKind.FOLDER:
                    _write(source, entry, place / where.name, place / f".{where.name[:200]}{mark}")
    except OSError as error:
        raise DiskFull(f"{where} cannot be written: {error.strerror or error}.") from None


def _write(source: FolderBlobs, entry: Entry, target: Path, part: Path) -> None:
    try:
        if entry.kind is EntryKind.LINK:
            os.symlink(entry.content, part)
        else:
            source.copy_to(entry.content, part, entry.mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
