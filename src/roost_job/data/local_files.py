"""The files of this machine that go to a datastore, their names there, and the messages about it: the same in jobs and
outside."""

import fnmatch
import os
import stat
import sys
from typing import Any, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException

PART, DOWNLOAD = ".roost-part-", ".roost-download"
"""Prefix of files that are being written to a datastore; name of the folder for incomplete files of a download. The first would
be hidden in a datastore, the second deleted by a download."""
_OURS = "Roost keeps such names for what is not whole yet"
_LOOK = "Look at the path; a relative one is seen from the working folder."
_STARS = "`*` stays within a folder, `**` is any number of folders: `**/*.csv`."
_NAMED = 5


def absolute(what: str, given: Any) -> str:
    """The full path of the argument `what`."""
    try:
        return os.path.abspath(os.path.expanduser(os.fsdecode(given)))
    except TypeError:
        raise UserErrorException("%s must be a path, got %s %.80r." % (what, type(given).__name__, given)) from None


def folder(src_dir: Any, pattern: Optional[str] = None) -> List[Tuple[str, str]]:
    """The files of a folder with their names in it; only those that match a pattern, if one is given. Links are followed."""
    root = absolute("src_dir", src_dir)
    if not os.path.isdir(root):
        raise UserErrorException(
            "%r is not a folder." % str(src_dir), hint="Give the folder whose files are to be uploaded."
        )
    found = [(path, _below(path, root)) for path in _walk(root, frozenset())]
    if pattern is not None:
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        found = [each for each in found if _fits(parts, each[1].split("/"))]
    found.sort(key=lambda each: each[1].split("/"))
    none = "There is no file to upload in %r%s" % (str(src_dir), " for %r." % pattern if pattern else ".")
    return _wanted(found, none, _STARS if pattern else _LOOK)


def _wanted(found: Sequence[Tuple[str, str]], none: str, hint: str = "") -> List[Tuple[str, str]]:
    """The files that can be uploaded; prints the others. Raises an error with the text `none` when there are no files."""
    wanted: List[Tuple[str, str]] = []
    passed: List[Tuple[str, str]] = []
    for path, name in found:
        why = problem(path, name)
        if why:
            passed.append((name, why))
        else:
            wanted.append((path, name))
    if not wanted:
        raise UserErrorException(none, hint=left_out(passed) or hint)
    if passed:
        say(left_out(passed))
    return wanted


def is_ours(name: str) -> bool:
    """True when Roost reserves a name in a datastore, or one of its folders."""
    parts = name.split("/")
    return parts[-1].startswith(PART) or DOWNLOAD in parts


def problem(path: str, name: str) -> str:
    """Why the path is not uploaded under that name; empty when it is."""
    return _OURS if is_ours(name) else "" if os.path.isfile(path) else _kind(path)


def _kind(path: str) -> str:
    """The kind of a path that is not a file."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return "it is a link to nothing" if os.path.islink(path) else "it cannot be reached: %s" % error.strerror
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))
    return "it is %s" % next((word for fits, word in kinds if fits(mode)), "a device")


def left_out(passed: Sequence[Tuple[str, str]]) -> str:
    """The sentence about skipped files, by name and reason; empty when there are none."""
    named = ", ".join("%r (%s)" % each for each in passed[:_NAMED])
    more = " and %d more" % (len(passed) - _NAMED) if len(passed) > _NAMED else ""
    return "Left out: %s%s." % (named, more) if passed else ""


def _walk(place: str, above: FrozenSet[Tuple[int, int]]) -> Iterator[str]:
    """Everything below a folder except folders, also through links; a link to a folder above it is not followed."""
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
        else:
            yield path


def chosen(files: Any, relative_root: Any = None) -> List[Tuple[str, str]]:
    """Files with their names: their own, or their paths below the given root."""
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
            there = os.path.lexists(path)
            raise UserErrorException(
                "There is no file %r to upload." % path, hint="Look at it: %s." % _kind(path) if there else _LOOK
            )
    none = "There is no file to upload."
    if relative_root is None:
        return _wanted([(path, os.path.basename(path)) for path in paths], none)
    root = absolute("relative_root", relative_root)
    for path in paths:
        if not path.startswith(os.path.join(root, "")):
            raise UserErrorException("%r is not below relative_root %r." % (path, root))
    return _wanted([(path, _below(path, root)) for path in paths], none)


def require_apart(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise UserErrorException(
            "%d files would be stored under %d names." % (len(names), len(set(names))),
            hint="Give relative_root to keep them apart.",
        )


def require_seen(target: str) -> None:
    """UserErrorException for a folder of a datastore whose files would be hidden."""
    if is_ours(target.rstrip("/")):
        raise UserErrorException("Nothing is uploaded to %r: %s." % (target, _OURS), hint="Give another target path.")


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def done(deed: str, count: int, size: int) -> str:
    """`Uploaded 3 files, 4 bytes.`"""
    return "%s %d file%s, %s." % (deed, count, "" if count == 1 else "s", megabytes(size))


def stayed(count: int, place: str, otherwise: str = "overwrite=True") -> str:
    """The sentence about existing files, and how to replace them."""
    many = ("%d files are" % count, "stay as they are", "them")
    words = ("1 file is", "stays as it is", "it") if count == 1 else many
    return "%s in %s already and %s; %s replaces %s." % (words[0], place, words[1], otherwise, words[2])


def say_of_download(datastore: str, prefix: str, count: int, same: int, folder: str) -> None:
    """Prints a message before a download of `count` files: that there are none, or that some exist already."""
    if not count:
        say(" ".join(["There is no file at %r in %s." % (prefix, datastore)] + of_pattern(prefix)))
    elif same:
        say(stayed(same, folder))


def of_pattern(path: str) -> List[str]:
    """Hints for a path in a datastore without a file; none for a path that is not a pattern."""
    signs = " and ".join("`%s`" % sign for sign in "*?" if sign in path)
    if not signs:
        return []
    words = ["`%s` is taken as a pattern, for its %s: it means files and no folders." % (path, signs)]
    if not path.endswith("**"):
        words.append("`%s/**` means all below such folders." % path.rstrip("/"))
    return words


def megabytes(size: int) -> str:
    if size >= 100000:
        return "%.1f MB" % (size / 1e6)
    return "1 byte" if size == 1 else "%d bytes" % size


def _below(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """True when the path matches: `**` is any number of folders, `*`, `?` and `[…]` stay within a part."""
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return len(parts) == 1 or any(_fits(parts[1:], names[start:]) for start in range(len(names)))
    return fnmatch.fnmatchcase(names[0], parts[0]) and _fits(parts[1:], names[1:])
