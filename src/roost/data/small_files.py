"""Downloads many small files in one thread, over several connections at once.

Threads that each wait for a small response spend their time switching. This handles the plain case only: a redirect, an error, a
broken connection, or a file that another process is downloading goes to `Transfer.whole`, which handles every case.
"""

import contextlib
import hashlib
import os
import selectors
import ssl
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from http.client import HTTPException

from roost.blobs.copying import write_all
from roost.data import blocks
from roost.data.transfers import Transfer, agree, conditions, no_room
from roost.data.web import Address, Stopped, Told
from roost.data.web_connections import BLOCK, Head, WebConnection, key
from roost.domain.datastores import Item

SMALL = BLOCK
"""Files up to this size are downloaded this way, except empty ones (`blocks.make_held`)."""
CONNECTIONS = 16
_LOOK_SECONDS = 0.5
_LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_BROKEN = (OSError, HTTPException, ValueError)

Wanted = tuple[Item, str]
"""A file and its future path."""


class SmallFiles:
    """Takes files from `queue`, which others may share, until it is empty. `otherwise` receives the cases that are not plain."""

    def __init__(self, transfer: Transfer, queue: deque[Wanted], otherwise: Callable[[Item, str], None]) -> None:
        self._transfer = transfer
        self._queue = queue
        self._otherwise = otherwise
        self._select = selectors.DefaultSelector()
        self._seats: set[_Seat] = set()
        self._most = min(CONNECTIONS, 1 + len(queue) // 8)
        self._buffer = memoryview(bytearray(BLOCK))

    def run(self) -> None:
        with no_room(None):
            try:
                self._until_empty()
            finally:
                for seat in list(self._seats):
                    self._leave(seat)
                self._select.close()

    def _until_empty(self) -> None:
        look_at = time.monotonic() + _LOOK_SECONDS
        while self._queue or self._seats:
            if self._transfer.web.stopping:
                raise Stopped
            more = bool(self._queue) and len(self._seats) < self._most
            if more:
                self._sit()
            for each, _ in self._select.select(0 if more else _LOOK_SECONDS):
                self._listen(each.data)
            if time.monotonic() > look_at:
                self._look()
                look_at = time.monotonic() + _LOOK_SECONDS

    def _next(self) -> Wanted | None:
        try:
            return self._queue.popleft()
        except IndexError:  # another thread took the last one
            return None

    def _sit(self) -> None:
        """Opens another connection, to the server of the next file."""
        wanted = self._next()
        if wanted is None:
            return
        try:
            seat = _Seat(self._transfer.where(wanted[0]).url)
        except _BROKEN:
            self._otherwise(*wanted)
            return
        self._seats.add(seat)
        self._select.register(seat.socket, selectors.EVENT_READ, seat)
        self._serve(seat, wanted)

    def _serve(self, seat: "_Seat", wanted: Wanted | None) -> None:
        """Gives a connection a file to request, or the next possible one; closes it when there is none."""
        while wanted:
            item, place = wanted
            address = self._transfer.where(item)
            if key(address.url) != seat.line.key:
                self._queue.appendleft(wanted)
                break
            try:
                seat.ask(item, place, address)
                return
            except BlockingIOError:  # another process is downloading it, or has
                seat.let_go()
                self._otherwise(item, place)
            except _BROKEN:
                self._otherwise(item, place)
                break
            wanted = self._next()
        self._leave(seat)

    def _listen(self, seat: "_Seat") -> None:
        whole = seat.listen(self._buffer)
        if whole is None:
            return
        if not whole:
            self._hand_over(seat)
            return
        agree(seat.item, seat.told, seat.address)
        self._transfer.came(seat.keep())
        if seat.closes:
            self._leave(seat)
        else:
            self._serve(seat, self._next())

    def _look(self) -> None:
        """Hands files whose connection was silent for too long to `otherwise`."""
        before = time.monotonic() - self._transfer.web.silence
        for seat in [seat for seat in self._seats if seat.heard_at < before]:
            self._hand_over(seat)

    def _hand_over(self, seat: "_Seat") -> None:
        self._leave(seat)
        self._otherwise(seat.item, seat.place)

    def _leave(self, seat: "_Seat") -> None:
        self._seats.discard(seat)
        with contextlib.suppress(KeyError, ValueError):
            self._select.unregister(seat.socket)
        seat.let_go()
        seat.line.connection.close()


class _Seat:
    """One connection, and the file last requested on it."""

    item: Item
    place: str
    address: Address
    told: Told

    def __init__(self, url: str) -> None:
        self.line = WebConnection(url)
        self.line.connection.connect()
        self.socket = self.line.connection.sock
        self.socket.setblocking(False)
        self._file = -1
        self._came = bytearray()
        self._body = self._end = -1
        self.closes = False
        self.heard_at = 0.0

    def ask(self, item: Item, place: str, address: Address) -> None:
        """Locks the file, so that no other process downloads it, and sends the request."""
        self.item, self.place, self.address = item, place, address
        self._file = blocks.make_held(place + blocks.DATA)
        self._came.clear()
        self._body = -1
        self.heard_at = time.monotonic()
        if blocks.is_whole(place, item):
            os.unlink(place + blocks.DATA)
            raise BlockingIOError("it has come meanwhile")
        request = self.line.request("GET", address.url, {**address.headers, **conditions(item)})
        if self.socket.send(request) != len(request):
            raise OSError("the request does not go out at once")

    def listen(self, buffer: memoryview) -> bool | None:
        """None: more data will follow. True: the file is complete. False: not a plain response."""
        try:
            while count := self.socket.recv_into(buffer):
                self._came += buffer[:count]
                self.heard_at = time.monotonic()
                whole = self._is_whole()
                if whole is not None:
                    return whole
        except _LATER:
            return None
        except OSError:
            return False
        return False

    def keep(self) -> int:
        """Moves the complete file to its place; returns its size."""
        with memoryview(self._came) as whole, whole[self._body :] as body:
            write_all(self._file, body)
            size = len(body)
        blocks.seal(self._file, self.item.modified_at)
        os.rename(self.place + blocks.DATA, self.place)
        self.let_go()
        return size

    def let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _is_whole(self) -> bool | None:
        if self._body < 0 and not self._read_head():
            return None if self._body < 0 and len(self._came) < BLOCK else False
        missing = self._end - len(self._came)
        if missing > 0:
            return None
        return missing == 0 and self._has_hash()

    def _read_head(self) -> bool:
        """True when the head has arrived and is plain."""
        end = self._came.find(b"\r\n\r\n")
        if end < 0:
            return False
        first, *lines = self._came[:end].decode("latin-1").split("\r\n")
        head = Head.of(lines)
        self._body = end + 4
        self.told = Told(200 if first.startswith(("HTTP/1.1 200", "HTTP/1.0 200")) else 0, head)
        self.closes = first.startswith("HTTP/1.0") or "close" in head.text("connection").lower()
        length = self.told.length
        self._end = self._body + (length or 0)
        return bool(self.told.status) and length is not None and length <= SMALL and "transfer-encoding" not in head

    def _has_hash(self) -> bool:
        told = self.told.head.text("content-md5")
        if not told:
            return True
        return b64encode(hashlib.md5(self._came[self._body :], usedforsecurity=False).digest()).decode() == told
