"""Writes a manifest's files where somebody else may work meanwhile: a job in a container must not have the agent write anywhere
that the job cannot. So no link is ever followed, whoever makes one, and whenever.
"""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import DiskFull, InvalidInput
from roost.domain.files import Entry, EntryKind

_LOOK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def held(folder: Path) -> Iterator[Path]:
    """A folder by its full path without links, made if it is not there; under a name that means it whatever becomes of that path.
    InvalidInput when a part of it is a link."""
    place = Path("/")
    current = os.open(place, _LOOK)
    try:
        for part in folder.parts[1:]:
            place /= part
            before, current = current, _step(current, part, place)
            os.close(before)
        yield Path(f"/proc/self/fd/{current}")
    finally:
        os.close(current)


def _step(parent: int, part: str, place: Path) -> int:
    try:
        with contextlib.suppress(FileNotFoundError):
            return os.open(part, _LOOK, dir_fd=parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
        return os.open(part, _LOOK, dir_fd=parent)
    except OSError as error:
        if isinstance(error, NotADirectoryError) and place.is_symlink():
            raise InvalidInput(
                f"{str(place)!r} is a link, and nothing is written through one.",
                hint="Take it away, or name another folder.",
            ) from None
        raise OSError(error.errno, error.strerror, str(place)) from None


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
