"""Transfers one file from a server into the cache: whole, or in ranges of blocks, checked against the listing.

Every response is compared with the item: ETag or time, length, and position in the file. A server without ranges sends the whole
file, and all of it is used. A response that does not match is an error, and none of it is used.
"""

import email.utils
import errno
import hashlib
import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from roost.blobs.copying import write_all
from roost.data import blocks
from roost.data.blocks import BLOCK, Claim, Part
from roost.data.web import Address, Answer, Broken, Refused, Stopped, Told, Web, changed
from roost.data.web_connections import BLOCK as PIECE
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull, Forbidden, RoostError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_WAIT = 0.02


class Whereabouts(Protocol):
    """The current address of a file, and a new one when that was refused: `addresses.Addresses`."""

    def of(self, name: str) -> Address: ...

    def renew(self, name: str) -> bool: ...


class Transfer:
    """Shared by all files of one fetch or mount. `came` receives byte counts, in any thread."""

    def __init__(self, web: Web, addresses: Whereabouts, came: Callable[[int], None] = lambda _: None) -> None:
        self.web = web
        self._addresses = addresses
        self.came = came

    def where(self, item: Item) -> Address:
        return self._addresses.of(item.name)

    def whole(self, item: Item, place: Path) -> None:
        """Downloads a file in one piece. When two callers want the same file, the second waits and then finds it."""
        file = self._first(item, place)
        if file is None:
            return
        try:
            done = 0

            def attempt(address: Address) -> None:
                nonlocal done
                blocks.empty(file)
                self.came(-done)
                done = 0
                with self.web.ask("GET", address, conditions(item)) as answer:
                    agree(item, answer, address)
                    hasher = _hasher(answer)
                    for piece in _pieces(answer, item, address, self.web):
                        write_all(file, piece)
                        done += len(piece)
                        self.came(len(piece))
                        if hasher:
                            hasher.update(piece)
                    _check_end(item, answer, address, done, hasher)

            with no_room(place.parent):
                self._persist(item, attempt, lambda: 0)
            blocks.seal(file, item.modified_at)
            os.rename(f"{place}{blocks.DATA}", place)
        finally:
            os.close(file)

    def stretch(self, item: Item, part: Part, first: int, last: int) -> bool:
        """Downloads the missing blocks from `first` up to `last`; returns False when the server sent the whole file instead."""
        ranged = True

        def attempt(address: Address) -> None:
            nonlocal ranged
            while missing := part.missing(first, last):
                ranged &= self._fill(item, part, claim, missing, address)

        with no_room(None), part.filling(first, last, self._wanted) as claim:
            self._persist(item, attempt, lambda: part.present)
        return ranged

    def _fill(self, item: Item, part: Part, claim: Claim, missing: tuple[int, int], address: Address) -> bool:
        start, end = missing[0] * BLOCK, min(missing[1] * BLOCK, part.size)
        headers = {**conditions(item), "Range": f"bytes={start}-{end - 1}"}
        with self.web.ask("GET", address, headers) as answer:
            agree(item, answer, address)
            ranged = answer.status == 206
            if ranged:
                _check_range(item, answer, address, start, end)
            else:
                start, end = 0, part.size
            offset, mine = start, False
            for piece in _within_blocks(_pieces(answer, item, address, self.web), start):
                if offset + len(piece) > end:
                    raise changed(address.shown, "it is longer")
                block, begins = divmod(offset, BLOCK)
                mine = mine if begins else claim.takes(block)
                if mine:
                    part.write(piece, offset)
                offset += len(piece)
                self.came(len(piece))
                if mine and (offset % BLOCK == 0 or offset == part.size):
                    claim.done(block)
            if offset != end:
                raise Broken(f"its server ended after {offset - start} of {end - start} bytes")
        return ranged

    def _persist(self, item: Item, attempt: Callable[[Address], None], done: Callable[[], int]) -> None:
        """Repeats the attempt, with a newly signed address when one was refused."""
        try:
            self.web.persist(lambda: self.where(item), attempt, done)
        except (Forbidden, Refused) as error:
            if isinstance(error, Refused) and not self._signed(item):
                raise
            if not self._addresses.renew(item.name):
                raise
            self.web.persist(lambda: self.where(item), attempt, done)

    def _signed(self, item: Item) -> bool:
        """True when the address was signed for this file: neither a user's own nor a route of the control plane."""
        return not item.relayed and self.where(item).url != item.source

    def _first(self, item: Item, place: Path) -> int | None:
        """Opens and locks the file to write; returns None when another process has downloaded it meanwhile."""
        while not blocks.is_whole(place, item):
            try:
                file = blocks.open_held(f"{place}{blocks.DATA}", alone=True)
            except BlockingIOError:
                self._wanted()
                time.sleep(_WAIT)
                continue
            if not blocks.is_whole(place, item):
                return file
            os.unlink(f"{place}{blocks.DATA}")
            os.close(file)
        return None

    def _wanted(self) -> None:
        if self.web.stopping:
            raise Stopped


def seen(answer: Told) -> tuple[str, float | None]:
    """The version in a response's head: its ETag and the time of its last change."""
    etag = answer.head.text("etag").strip()
    return etag, _seconds(answer.head.text("last-modified"))


@lru_cache(maxsize=1024)
def _seconds(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError):
        return None


def conditions(item: Item) -> dict[str, str]:
    """Headers that make the server refuse another version; a weak ETag cannot be used for that."""
    if not item.etag or item.etag.startswith("W/"):
        return {}
    return {"If-Match": item.etag if item.relayed else f'"{_plain(item.etag)}"'}


def _plain(etag: str) -> str:
    return etag.strip().removeprefix("W/").strip('"')


def agree(item: Item, answer: Told, address: Address) -> None:
    """Raises when a response does not match the listed file."""
    etag, modified = seen(answer)
    if etag and item.etag:
        if _plain(etag) != _plain(item.etag):
            raise changed(address.shown, "its server gives it another ETag")
    elif modified is not None and item.modified_at is not None and int(modified) != int(item.modified_at):
        raise changed(address.shown, f"its server says that it is of {answer.head.text('last-modified')}")
    if answer.status == 200 and item.size is not None and answer.length not in (None, item.size):
        raise changed(address.shown, f"it has {answer.length} bytes, not {item.size}")


def _check_range(item: Item, answer: Answer, address: Address, start: int, end: int) -> None:
    unit, _, told = answer.head.text("content-range").partition(" ")
    place, _, total = told.partition("/")
    if total not in ("*", str(item.size)):
        raise changed(address.shown, f"it has {total} bytes, not {item.size}")
    if unit.lower() != "bytes" or place.strip() != f"{start}-{end - 1}":
        raise RoostError(f"{address.shown} cannot be read: bytes {start}-{end - 1} were asked for, {told!r} came.")


def _check_end(item: Item, answer: Told, address: Address, done: int, hasher: "hashlib._Hash | None") -> None:
    expected = item.size if item.size is not None else answer.length
    if expected is not None and done < expected:
        raise Broken(f"its server ended after {done} of {expected} bytes")
    if expected is not None and done > expected:
        raise changed(address.shown, f"it has {done} bytes, not {expected}")
    if hasher and b64encode(hasher.digest()).decode() != answer.head.text("content-md5"):
        raise Broken("what came does not have the MD5 that its server gives it")


def _hasher(answer: Told) -> "hashlib._Hash | None":
    if answer.head.text("content-md5"):
        return hashlib.md5(usedforsecurity=False)
    return None


def _pieces(answer: Answer, item: Item, address: Address, web: Web) -> Iterator[memoryview]:
    """The body in pieces, each valid until the next."""
    length = answer.length
    buffer = memoryview(bytearray(PIECE if length is None else max(1, min(PIECE, length))))
    came = 0
    while count := answer.readinto(buffer):
        came += count
        if item.size is not None and came > item.size:
            raise changed(address.shown, f"it has more than its {item.size} bytes")
        yield buffer[:count]
        if web.stopping:
            raise Stopped
        if came == length:
            return


def _within_blocks(pieces: Iterator[memoryview], offset: int) -> Iterator[memoryview]:
    """The same bytes, starting at this offset of the file, in pieces that never cross a block's end."""
    for piece in pieces:
        while piece:
            count = min(len(piece), BLOCK - offset % BLOCK)
            yield piece[:count]
            piece, offset = piece[count:], offset + count


@contextmanager
def no_room(folder: Path | None) -> Iterator[None]:
    """Reports a full disk as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        where = f" {folder.parent}" if folder else ""
        raise DiskFull(
            f"The disk of the data cache{where} is full.",
            hint="Free some room there, or set ROOST_HOME to a folder on a larger disk.",
        ) from error
