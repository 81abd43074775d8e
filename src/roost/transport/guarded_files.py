"""Files where somebody else may work meanwhile: a job in a container must not have the agent write or read anywhere that the job
cannot. So no link is ever followed, whoever makes one, and whenever.
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
"""So many files are held open together: a process may have a thousand."""
_BY_STEPS = sys.platform == "linux"
"""Elsewhere there are clients alone, and nobody but the user at their files: paths are taken as they are."""
_LOOK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if _BY_STEPS else 0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC if _BY_STEPS else 0


@contextlib.contextmanager
def held(folder: Path) -> Iterator[Path]:
    """A folder by its full path without links, made if it is not there; under a name that means it whatever becomes of that path.
    InvalidInput when a part of it is a link."""
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
    """Files by their full paths without links, no more than `OPEN_AT_ONCE`; under names that mean them whatever becomes of those
    paths. InvalidInput when a part of one is a link, OSError for what is no file to be read."""
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
    """With the path; a link, which the kernel knows by several names, is told as one."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP) and place.is_symlink():
        return InvalidInput(
            f"{str(place)!r} is a link, and none is followed here.", hint="Take it away, or name another path."
        )
    return OSError(error.errno, error.strerror, str(place))


def _named(file: int) -> Path:
    return Path(f"/proc/self/fd/{file}")


def lay(source: FolderBlobs, entries: Sequence[Entry], folder: Path) -> None:
    """The entries below a folder by its full path without links; each whole or not at all, in place of what is there."""
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
