"""Replaces the values that a run has read from the key vault by `***` in its streamed and stored logs. The files on the node stay
unchanged.

The result depends only on the log and the values, not on the pieces in which the log is read; so a salvage pass, which starts
without state, produces the same bytes. Once there are values, a log is sent from a masked copy.
"""

import contextlib
import hashlib
import heapq
import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.shipping import shared_folders
from roost.domain.secret_forms import patterns
from roost.machine import files

MASK = b"***"
_PIECE = 1024 * 1024


class Mask:
    """Replaces patterns in bytes that come piece by piece. A possible beginning of a pattern is held back until more bytes
    decide. Of several matches, the earliest counts, then the longest."""

    def __init__(self, words: tuple[bytes, ...]) -> None:
        """`words`: the longest first."""
        self._words = words
        self._held = b""

    def feed(self, data: bytes, *, last: bool = False) -> bytes:
        text, at, out = self._held + data, 0, []
        hold = len(text) if last else self._unclear_from(text, 0)
        # A search for each word in turn is several times as fast as one regular expression for all.
        places = [(place, number) for number, word in enumerate(self._words) if (place := text.find(word)) >= 0]
        heapq.heapify(places)
        while places and places[0][0] < hold:
            start, number = places[0]
            if start >= at:
                out += [text[at:start], MASK]
                at = start + len(self._words[number])
                if at > hold:
                    hold = self._unclear_from(text, at)
            following = text.find(self._words[number], at)
            if following >= 0:
                heapq.heapreplace(places, (following, number))
            else:
                heapq.heappop(places)
        out.append(text[at:hold])
        self._held = text[hold:]
        return b"".join(out)

    def _unclear_from(self, text: bytes, at: int) -> int:
        """The position of the first bytes that, up to the end of the text, could be the beginning of a pattern."""
        first = len(text)
        for word in self._words:
            place = text.find(word[:1], max(at, len(text) - len(word) + 1), first)
            while place >= 0:
                if word.startswith(text[place:]):
                    first = place
                    break
                place = text.find(word[:1], place + 1, first)
        return first


@dataclass
class _Copy:
    """The masked copy of one log, as far as it is written."""

    path: Path
    mask: Mask
    edition: int
    """The number of patterns with which it was made."""
    taken: int = 0
    """Bytes of the log that are in it or held back."""

    def extend(self, log: Path, *, last: bool) -> None:
        with self.path.open("ab") as file:
            for piece in _pieces(log, self.taken):
                self.taken += len(piece)
                file.write(self.mask.feed(piece))
            if last:
                file.write(self.mask.feed(b"", last=True))


@dataclass
class Masks:
    """The values that this run has read. `add` and `hide` from any thread; `shown` from one at a time."""

    folder: Folder
    _values: set[str] = field(default_factory=set)
    _words: tuple[bytes, ...] = ()
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _others: dict[Path, int] = field(default_factory=dict)
    """The time of change of each other node's file of values, when it was last read."""

    def __post_init__(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # no secret was read yet
            self._learn(json.loads(self.folder.secrets.read_bytes()))

    def add(self, values: Iterable[str]) -> None:
        """Masks these values from now on. They are first written to the run's folder, for a salvage pass."""
        with self._lock:
            if new := set(values) - self._values:
                noted = self._note(self._values | new)
                if (common := shared_folders.secrets_of(self.folder)) is not None:  # for the shared logs' sender
                    files.write(common / f"secrets-{self.folder.root.name}.json", noted)
                self._learn(new)

    def note_again(self) -> None:
        """Writes the values again after the run's folder was deleted and made again."""
        with self._lock:
            if self._values:
                self._note(self._values)

    def _note(self, values: set[str]) -> bytes:
        noted = json.dumps(sorted(values)).encode()
        files.write(self.folder.secrets, noted)
        return noted

    def _ask_others(self) -> None:
        """Adds the values that other nodes of this machine have read: they may be in the shared logs."""
        common = shared_folders.secrets_of(self.folder)
        for path in sorted(common.glob("secrets-*.json")) if common is not None else ():
            with contextlib.suppress(OSError, ValueError):
                changed = path.stat().st_mtime_ns
                with self._lock:
                    if self._others.get(path) != changed:
                        self._learn(json.loads(path.read_bytes()))
                        self._others[path] = changed

    def _learn(self, values: Iterable[str]) -> None:
        self._values = self._values | set(values)  # a new set: another thread may be reading the old one
        self._words = patterns(self._values)

    def hide(self, text: str) -> str:
        words = self._words
        data = text.encode("utf-8", "surrogateescape")
        return Mask(words).feed(data, last=True).decode("utf-8", "surrogateescape") if words else text

    def shown(self, name: str, path: Path, *, last: bool = False) -> tuple[Path, bool]:
        """The file to send instead of a growing log, and True when the bytes sent before are not its beginning any more."""
        self._ask_others()
        words = self._words
        if not words:
            return path, False
        copy = self._copies.get(name)
        if copy is not None and copy.edition == len(words) and path.stat().st_size >= copy.taken:
            copy.extend(path, last=last)
            return copy.path, False
        fresh = _Copy(self._place(name).with_suffix(".part"), Mask(words), len(words))
        fresh.path.unlink(missing_ok=True)
        fresh.extend(path, last=last)
        sent = path if copy is None else copy.path
        differs = not _begin_alike(sent, fresh.path)
        fresh.path = fresh.path.replace(self._place(name))
        self._copies[name] = fresh
        return fresh.path, differs

    def sealed(self, name: str, path: Path) -> Path:
        """The file to store instead of a finished log."""
        self._ask_others()
        words = self._words
        if not words:
            return path
        place = self._place(name).with_suffix(".sealed")
        mask = Mask(words)
        with place.open("wb") as file:
            for piece in _pieces(path, 0):
                file.write(mask.feed(piece))
            file.write(mask.feed(b"", last=True))
        return place

    def _place(self, name: str) -> Path:
        self.folder.masked.mkdir(mode=0o700, exist_ok=True)
        return self.folder.masked / hashlib.sha256(name.encode()).hexdigest()


def _begin_alike(one: Path, other: Path) -> bool:
    """True when the shorter file is the beginning of the longer."""
    with one.open("rb") as left, other.open("rb") as right:
        while True:
            a, b = left.read(_PIECE), right.read(_PIECE)
            shorter = min(len(a), len(b))
            if a[:shorter] != b[:shorter]:
                return False
            if shorter < _PIECE:
                return True


def _pieces(path: Path, offset: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        while piece := file.read(_PIECE):
            yield piece
