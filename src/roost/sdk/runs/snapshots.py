"""A source folder as a manifest of blobs. Start with `take`: walk, upload new files, store the manifest, update the cache.

Unchanged files cost one stat each: their lines come from the cache (`stat_cache.py`). The walk is written for speed, with plain
strings and `os.scandir`. A snapshot is never partial: it exists only through its manifest, which is stored last.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from roost.domain import files, names
from roost.domain.errors import InvalidInput
from roost.sdk.core import upload_messages
from roost.sdk.runs import stat_cache
from roost.sdk.runs.ignoring import ALWAYS, BACKUPS, MARK_OF_VENV, Rules, read_rules
from roost.sdk.runs.stat_cache import Signature

_TRIES = 3
_LONG = 1200.0  # seconds; unreferenced blobs are safe from sweeps for an hour
_FILES_AT_ONCE, _BYTES_AT_ONCE = 1000, 64 * 1024 * 1024
_FEW, _SMALL = 32, 4 * 1024 * 1024


class Blobs(Protocol):
    """The destination of the bytes: `roost.transport.carrying.Carrier` and its server."""

    def put(self, data: bytes) -> str: ...
    def carry(self, paths: Sequence[Path]) -> list[tuple[str, int]]: ...
    def has(self, name: str) -> bool: ...


@dataclass(slots=True)
class _Walk:
    """The result of the walk, by path within the folder."""

    root: str
    rules: Rules
    apart: str
    """ROOST_HOME within the folder, if it is there: never part of a snapshot."""
    without: Collection[str]
    """Folders that this snapshot leaves out, by path."""
    known: dict[str, tuple[Signature, str]]
    """The files in the cache."""
    lines: dict[str, str] = field(default_factory=dict)
    """Finished lines of the manifest: unchanged files, links, empty folders."""
    fresh: dict[str, os.stat_result] = field(default_factory=dict)
    """Files to be read."""
    left: list[str] = field(default_factory=list)
    """Folders that are never sent."""


def take(folder: str, blobs: Blobs, home: Path, *, needs: str = "", without: Collection[str] = ()) -> str:
    """Snapshots a folder, except the folders `without`; returns the hash of its manifest. Raises InvalidInput with the file
    that cannot be part of it, or with `needs`, a required path that is missing."""
    root = os.path.realpath(folder)
    if not os.path.isdir(root):
        raise InvalidInput(f"The source folder {folder!r} is not a folder.", hint="Give an existing folder.")
    place = stat_cache.place(home, root)
    cache = stat_cache.load(place)
    if cache.manifest and not blobs.has(cache.manifest):
        cache = stat_cache.Cache(said=cache.said)  # another server, or a sweep: earlier uploads may be gone
    text = read_rules(root)
    rules = Rules(text, cache.verdicts if text == cache.rules else None)
    walk = _Walk(root, rules, os.path.relpath(os.path.realpath(home), root), without, cache.files)
    _walk(walk, root, "")
    if needs and needs not in walk.lines and needs not in walk.fresh:
        raise InvalidInput(
            f"{needs!r} is not part of the snapshot of {root}: an ignore rule leaves it out.",
            hint=f"Take it out of .amlignore (or .gitignore), or say `!{needs}` there.",
        )
    said = [path for path in walk.left if path in cache.said]
    said += upload_messages.left_out(root, [path for path in walk.left if path not in cache.said])
    upload_messages.warn_if_large(root, walk.fresh)
    read_at = time.time_ns()
    new = _carry(walk, blobs)
    if time.time_ns() - read_at > _LONG * 1e9:
        new = _carry(walk, blobs)  # a sweep may have removed the first of them
    lines = walk.lines
    lines.update({path: line for path, (_, line) in new.items()})
    manifest = blobs.put("".join([lines[path] for path in sorted(lines)]).encode("utf-8"))
    if text != cache.rules or said != cache.said or _is_worth_keeping(new):
        kept = {path: cache.files[path] for path in lines if path in cache.files}
        kept.update({path: seen for path, seen in new.items() if stat_cache.is_settled(seen[0], read_at)})
        stat_cache.save(place, stat_cache.Cache(text, rules.verdicts, manifest, kept, said))
    return manifest


def _is_worth_keeping(new: dict[str, tuple[Signature, str]]) -> bool:
    """True when reading these files again next time would cost more than writing the cache now. Files that are not cached are
    read again; cached entries stay valid, because the server has their manifest and its blobs."""
    return len(new) > _FEW or sum(signature[0] for signature, _ in new.values()) > _SMALL


def _walk(walk: _Walk, folder: str, prefix: str) -> None:
    """Sorts the entries of one folder into the walk, then enters its subfolders."""
    below: list[str] = []
    try:
        with _opened(folder) as place, os.scandir(place) as found:
            _sort(walk, list(found), prefix, below)
    except OSError as error:
        raise _unreadable(folder, error) from None
    for path in below:
        _walk(walk, f"{walk.root}/{path}", path + "/")


@contextmanager
def _opened(folder: str) -> Iterator[int | str]:
    """The folder by descriptor, where scandir accepts one: each stat then resolves one name instead of the whole path."""
    if os.scandir not in os.supports_fd:
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sort(walk: _Walk, entries: list["os.DirEntry[str]"], prefix: str, below: list[str]) -> None:
    """The fast loop: one stat and one look-up for an unchanged file."""
    known, lines, rules = walk.known, walk.lines, walk.rules
    ruled = bool(rules)
    if prefix and MARK_OF_VENV in [entry.name for entry in entries]:
        walk.left.append(prefix.rstrip("/"))
        return
    if not entries and prefix:
        path = names.path(prefix.rstrip("/"))
        lines[path] = files.line(files.Entry(path, files.EntryKind.FOLDER, 0o755))
    for entry in entries:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if entry.name in ALWAYS or path in walk.without:
                walk.left.append(path)
            elif not (path == walk.apart or (ruled and rules.ignores(path + "/"))):
                below.append(path)
        elif not (entry.name.endswith(BACKUPS) or (ruled and rules.ignores(path))):
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # it was deleted a moment ago
            before = known.get(path)
            if before is not None and before[0] == (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino):
                lines[path] = before[1]
            else:
                _look(walk, path, f"{walk.root}/{path}", seen)


def _look(walk: _Walk, path: str, full: str, seen: os.stat_result) -> None:
    """Handles a new or changed file: its type, and whether it can be part of a snapshot."""
    try:
        names.path(path)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path!r} in {walk.root} has a name that a snapshot cannot hold: {error.message}",
            hint="Rename it, or name it in .amlignore.",
        ) from None
    if stat.S_ISREG(seen.st_mode):
        walk.fresh[path] = seen
    elif stat.S_ISLNK(seen.st_mode):
        _look_at_link(walk, path, full)
    else:
        kind = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a pipe"}.get(stat.S_IFMT(seen.st_mode), "a device")
        raise InvalidInput(f"{full} is {kind}, not a file.", hint="Remove it, or name it in .amlignore.")


def _look_at_link(walk: _Walk, path: str, full: str) -> None:
    """A link that stays inside is stored as a link; one to a file outside becomes that file; one to a folder outside is
    refused."""
    target = os.readlink(full)
    real = os.path.realpath(full)
    if real == walk.root or real.startswith(walk.root + "/"):
        if target.startswith("/") or not _stays_inside(path, target):
            target = os.path.relpath(real, os.path.dirname(full))
        walk.lines[path] = files.line(files.Entry(path, files.EntryKind.LINK, 0o777, 0, names.link(path, target)))
        return
    try:
        seen = os.stat(full)
    except OSError:
        raise InvalidInput(
            f"The link {full} leads to {target}, which is not there.", hint="Remove it, or name it in .amlignore."
        ) from None
    if not stat.S_ISREG(seen.st_mode):
        raise InvalidInput(
            f"The link {full} leads to {real}, outside the source folder; only links to files are followed there.",
            hint="Name it in .amlignore and pass the path as an argument, or copy the folder.",
        )
    walk.fresh[path] = seen


def _stays_inside(path: str, target: str) -> bool:
    try:
        names.link(path, target)
    except InvalidInput:
        return False
    return True


def _carry(walk: _Walk, blobs: Blobs) -> dict[str, tuple[Signature, str]]:
    """Uploads the new files; returns their stats and lines. A file that changes while it is read is read again, a few times."""
    done: dict[str, tuple[Signature, str]] = {}
    left = walk.fresh
    for _ in range(_TRIES):
        if not left:
            return done
        paths = list(left)
        try:
            carried = _carry_along(walk, blobs, left)
        except OSError as error:
            raise _unreadable(str(error.filename or walk.root), error) from None
        again: dict[str, os.stat_result] = {}
        for path, (content, size) in zip(paths, carried, strict=True):
            before, after = left[path], _stat(walk, path)
            if _signature(before) == _signature(after) and size == after.st_size:
                mode = 0o755 if after.st_mode & 0o100 else 0o644
                done[path] = (
                    _signature(after),
                    files.line(files.Entry(path, files.EntryKind.FILE, mode, size, content)),
                )
            else:
                again[path] = after
        left = again
    if left:
        raise InvalidInput(
            f"{walk.root}/{next(iter(left))} changed each of the {_TRIES} times it was read.",
            hint="Submit when nothing writes to it, or name it in .amlignore.",
        )
    return done


def _carry_along(walk: _Walk, blobs: Blobs, files_left: dict[str, os.stat_result]) -> list[tuple[str, int]]:
    """Uploads files in groups, and shows progress."""
    carried: list[tuple[str, int]] = []
    with upload_messages.Progress(len(files_left), sum(seen.st_size for seen in files_left.values())) as progress:
        some: list[Path] = []
        weight = 0
        for number, (path, seen) in enumerate(files_left.items(), 1):
            some.append(Path(f"{walk.root}/{path}"))
            weight += seen.st_size
            if len(some) >= _FILES_AT_ONCE or weight >= _BYTES_AT_ONCE or number == len(files_left):
                carried += blobs.carry(some)
                progress.step(len(some), weight)
                some, weight = [], 0
    return carried


def _stat(walk: _Walk, path: str) -> os.stat_result:
    try:
        return os.stat(f"{walk.root}/{path}")
    except OSError as error:
        raise _unreadable(f"{walk.root}/{path}", error) from None


def _signature(seen: os.stat_result) -> Signature:
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino


def _unreadable(path: str, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"{path} cannot be read: {error.strerror or error}.",
        hint="Make it readable, or name it in .amlignore; nothing was submitted.",
    )
