"""Which files of this machine go to a datastore, under which names, and what is said of it: the same in jobs and outside."""

import fnmatch
import os
import sys
from typing import Any, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException


def absolute(what: str, given: Any) -> str:
    """The full path of what was given as `what`."""
    try:
        return os.path.abspath(os.path.expanduser(os.fsdecode(given)))
    except TypeError:
        raise UserErrorException("%s must be a path, got %s %.80r." % (what, type(given).__name__, given)) from None


def folder(src_dir: Any, pattern: Optional[str] = None) -> List[Tuple[str, str]]:
    """The files of a folder with their names in it; those that a pattern means, when there is one. Links are followed."""
    root = absolute("src_dir", src_dir)
    if not os.path.isdir(root):
        raise UserErrorException(
            "%r is not a folder." % str(src_dir), hint="Give the folder whose files are to be uploaded."
        )
    found = [(path, _below(path, root)) for path in _walk(root, frozenset())]
    if pattern is not None:
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        found = [each for each in found if _fits(parts, each[1].split("/"))]
    if not found:
        meant = " for %r." % pattern if pattern else "."
        raise UserErrorException("There is no file to upload in %r%s" % (str(src_dir), meant))
    return sorted(found, key=lambda each: each[1].split("/"))


def _walk(place: str, above: FrozenSet[Tuple[int, int]]) -> Iterator[str]:
    """All files below it, through links too; one that leads to a folder above it ends there."""
    seen = os.stat(place)
    here = (seen.st_dev, seen.st_ino)
    if here in above:
        return
    try:
        names = os.listdir(place)
    except OSError as error:
        raise UserErrorException("Folder %r cannot be read: %s." % (place, error.strerror)) from None
    for name in names:
        path = os.path.join(place, name)
        if os.path.isdir(path):
            for each in _walk(path, above | {here}):
                yield each
        elif os.path.isfile(path):
            yield path


def chosen(files: Any, relative_root: Any = None) -> List[Tuple[str, str]]:
    """Files with their names: their own, or what is below the root that is given."""
    if isinstance(files, (str, bytes)) or not hasattr(files, "__iter__"):
        raise UserErrorException("files must be a list of at least one path, got %.200r." % (files,))
    paths = [absolute("files", each) for each in files]
    if not paths:
        raise UserErrorException("files must be a list of at least one path, got %.200r." % (files,))
    for path in paths:
        if os.path.isdir(path):
            raise UserErrorException(
                "%r is a folder; these are files to upload." % path, hint="datastore.upload(src_dir) takes a folder."
            )
        if not os.path.isfile(path):
            raise UserErrorException("There is no file %r to upload." % path)
    if relative_root is None:
        return [(path, os.path.basename(path)) for path in paths]
    root = absolute("relative_root", relative_root)
    for path in paths:
        if not path.startswith(os.path.join(root, "")):
            raise UserErrorException("%r is not below relative_root %r." % (path, root))
    return [(path, _below(path, root)) for path in paths]


def require_apart(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise UserErrorException(
            "%d files would be stored under %d names." % (len(names), len(set(names))),
            hint="Give relative_root to keep them apart.",
        )


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def done(deed: str, count: int, size: int) -> str:
    """`Uploaded 3 files, 4 bytes.`"""
    return "%s %d file%s, %s." % (deed, count, "" if count == 1 else "s", megabytes(size))


def stayed(count: int, datastore: str) -> str:
    """Of files that are there already."""
    words = ("1 file is", "stays as it is") if count == 1 else ("%d files are" % count, "stay as they are")
    return "%s in %s already and %s." % (words[0], datastore, words[1])


def say_of_download(datastore: str, prefix: str, count: int, same: int, folder: str) -> None:
    """What is said before files come, of `count` that there are: that there are none, or that some are here already."""
    if not count:
        say("There is no file at %r in %s." % (prefix, datastore))
    elif same:
        what = "it" if same == 1 else "them"
        say("%s; overwrite=True replaces %s." % (stayed(same, folder)[:-1], what))


def megabytes(size: int) -> str:
    if size >= 100000:
        return "%.1f MB" % (size / 1e6)
    return "1 byte" if size == 1 else "%d bytes" % size


def _below(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a path is meant: `**` is any number of folders, `*`, `?` and `[…]` stay within a part."""
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return len(parts) == 1 or any(_fits(parts[1:], names[start:]) for start in range(len(names)))
    return fnmatch.fnmatchcase(names[0], parts[0]) and _fits(parts[1:], names[1:])
