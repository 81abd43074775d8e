"""A request's body, read from the socket in the thread that stores it, without the event loop and its parser."""

import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from starlette.requests import ClientDisconnect

from roost.blobs.copying import pour, write_all
from roost.server.pace import Pace

_PIECE = 256 * 1024  # fits into the processor's cache: larger pieces take several times as long
_LOOK_SECONDS = 0.5


class Incoming(Iterator[bytes | memoryview]):
    """A body that is arriving; each piece is valid until the next one is read. Raises ClientDisconnect when a part is missing,
    TooSlow when it arrives too slowly."""

    def __init__(self, source: socket.socket, begun: bytes, left: int, given_up: Callable[[], bool]) -> None:
        self._source, self._begun, self._left, self._given_up = source, begun, left, given_up
        self._buffer = memoryview(bytearray(_PIECE))
        self._pace = Pace()
        self._pace.came(len(begun))
        self._ready = select.poll()
        self._ready.register(source, select.POLLIN)
        source.setblocking(False)

    def __next__(self) -> bytes | memoryview:
        if self._begun:
            begun, self._begun = self._begun, b""
            return begun
        if not self._left:
            self.close()
            raise StopIteration
        while True:
            try:
                got = self._source.recv_into(self._buffer[: min(self._left, _PIECE)])
            except BlockingIOError:
                self._wait()
                continue
            if not got:
                self._give_up()
            self._took(got)
            return self._buffer[:got]

    def pour(self, target: int, progress: Callable[[int], object]) -> int:
        """Writes the unread rest to the end of an open file; returns the number of bytes."""
        count = len(self._begun) + self._left
        if self._begun:
            write_all(target, self._begun)
            progress(len(self._begun))
        self._begun = b""
        # Received bytes count even if writing them fails: waiting for them again would be in vain.
        pour(self._source, target, self._left, self._wait, progress, self._took)
        if self._left:
            self._give_up()
        self.close()
        return count

    def close(self) -> None:
        self._source.close()
        self._left = 0

    def _took(self, count: int) -> None:
        self._left -= count
        self._pace.came(count)

    def _wait(self) -> None:
        """Waits until the socket is readable."""
        while not self._given_up():
            begun = time.monotonic()
            ready = self._ready.poll(min(_LOOK_SECONDS, self._pace.left) * 1000)
            try:
                self._pace.waited(time.monotonic() - begun)
            except BaseException:
                self.close()
                raise
            if ready:
                return
        self._give_up()

    def _give_up(self) -> NoReturn:
        self.close()
        raise ClientDisconnect
