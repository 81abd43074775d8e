"""Files by content: an entry names a path and the blob that holds its bytes; a manifest is a sorted list of entries.

A manifest's text is what is hashed and stored, so two equal folders have one name. One line per entry, tab-separated:
kind, mode (octal, the run bit only: 644 or 755), size, blob hash or link target, path. Paths may hold anything that
`names.path` allows, so neither a tab nor a line break.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from roost.domain import names
from roost.domain.errors import InvalidInput

STD_LOG = "user_logs/std_log.txt"
"""Everything a run's processes print."""
ALIASES = {"azureml-logs/70_driver_log.txt": STD_LOG}
"""Older names under which a file can also be read; nothing is stored under them."""


RANK_LOG = "user_logs/std_log_process_{}.txt"
"""The output of one process of several, by its rank in the run."""
NODE_LOG = "user_logs/std_log_node_{}.txt"
"""The output on one node of several that belongs to no rank: of a launcher, or of a command of another node."""
_APART = re.compile(r"user_logs/std_log_(?:process_(\d+)|node_(\d+))\.txt")


def speaker(path: str) -> str:
    """The source of a log, as the run's log names it: a rank's number or a node; empty for any other file."""
    found = _APART.fullmatch(path)
    return "" if not found else found[1] or f"node {found[2]}"


def of_attempt(path: str, attempt: int) -> str:
    """The path of the log of an earlier attempt."""
    return path.replace("user_logs/", f"user_logs/attempt_{attempt}/", 1)


def beside(path: str, node_rank: int) -> str:
    """The path of a node's file when an earlier node has a different file at the same path."""
    return f"{path}.node{node_rank}"


class EntryKind(StrEnum):
    FILE = "f"
    LINK = "l"
    FOLDER = "d"
    """Only empty folders are listed; the others follow from their files."""


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    kind: EntryKind = EntryKind.FILE
    mode: int = 0o644
    size: int = 0
    content: str = ""
    """A file's blob hash, a link's target, nothing for a folder."""


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """A file in a run's history."""

    path: str
    blob: str
    """Hash of the content; empty while it is a live stream."""
    size: int
    modified_at: float


def line(entry: Entry) -> str:
    return f"{entry.kind.value}\t{entry.mode:o}\t{entry.size}\t{entry.content}\t{entry.path}\n"


def write_manifest(entries: Iterable[Entry]) -> bytes:
    return "".join(line(entry) for entry in sorted(entries, key=lambda e: e.path)).encode("utf-8")


def read_manifest(data: bytes) -> list[Entry]:
    """The entries; InvalidInput for a malformed line. Paths and link targets are checked: none leads outside, nor through a
    link."""
    entries: list[Entry] = []
    if not data:
        return entries
    try:
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"The manifest is damaged: it is not text, but begins with {data[:40]!r}.") from None
    for number, text in enumerate(lines, 1):
        try:
            kind, mode, size, content, path = text.split("\t")
            entry = Entry(names.path(path), EntryKind(kind), int(mode, 8) & 0o777, int(size), content)
        except ValueError:
            raise InvalidInput(f"Line {number} of the manifest is damaged: {text[:80]!r}.") from None
        if entry.kind is EntryKind.FILE:
            names.blob(content)
        elif entry.kind is EntryKind.LINK:
            names.link(entry.path, content)
        entries.append(entry)
    links = {entry.path for entry in entries if entry.kind is EntryKind.LINK}
    for entry in entries if links else ():
        if through := links.intersection(map(str, PurePosixPath(entry.path).parents)):
            raise InvalidInput(f"The manifest has {entry.path!r} below {through.pop()!r}, which is a link.")
    return entries
