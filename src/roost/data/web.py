"""GET and HEAD of any address: persistent connections, redirects, and errors that name the address and the reason. Thread-safe.

An address may be signed, so it is shown without its query. A broken connection raises `Broken`, and `persist` tries again with
pauses; every other error is one of `domain.errors` and final.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import NoReturn, TypeVar
from urllib.parse import urljoin, urlsplit

from roost.data.web_connections import BLOCK, Head, Reply, WebConnection, key
from roost.domain.datasets import masked
from roost.domain.errors import Conflict, Forbidden, InvalidInput, NotFound, RoostError, Unavailable
from roost.transport.client import fail

T = TypeVar("T")
_MOST_REDIRECTS = 10
_MOST_IDLE = 8
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Status codes that may differ on the next try."""
_TRIES = 5
"""Seconds without a byte of progress."""
_AGAIN = "Nothing of it was used. Run it again to read the data as it is now."


@dataclass(frozen=True)
class Address:
    """The address and headers of a request. Never printed itself."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    what: str = ""
    """For a file that comes through the control plane: its name for messages."""

    @property
    def shown(self) -> str:
        return self.what or masked(self.url)


class Broken(Exception):
    """A connection that broke, or a response that may differ on the next try."""


class Refused(RoostError):
    """A response of 400, which some servers send for an expired signature."""


class Stopped(Exception):
    """The transfer is no longer wanted."""


@dataclass(frozen=True)
class Told:
    """The head of a response."""

    status: int
    head: Head

    @property
    def length(self) -> int | None:
        """Bytes of the body according to the head; None when the head does not contain the length."""
        text = self.head.text("content-length")
        return int(text) if text.isdigit() else None


@dataclass(frozen=True)
class Answer(Told):
    """A response with a body to read."""

    reply: Reply

    def readinto(self, view: memoryview) -> int:
        """Returns the number of bytes read; 0 at the end."""
        try:
            return self.reply.readinto(view)
        except (OSError, HTTPException, ValueError) as error:
            raise Broken(_reason(error)) from error

    def read(self) -> bytes:
        """Reads the whole body; for short ones."""
        try:
            return self.reply.read()
        except (OSError, HTTPException, ValueError) as error:
            raise Broken(_reason(error)) from error


class Web:
    """`silence`: the seconds a server may send nothing before the request is repeated; `pause`: the first pause between
    tries."""

    def __init__(self, *, silence: float = 60.0, pause: float = 0.2) -> None:
        self.silence = silence
        self._pause = pause
        self._lock = threading.Lock()
        self._idle: dict[str, list[WebConnection]] = {}
        self._busy: set[WebConnection] = set()
        self._stopping = threading.Event()
        self._pid = os.getpid()

    @contextlib.contextmanager
    def ask(
        self, method: str, address: Address, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Iterator[Answer]:
        """Follows redirects and returns the response; raises for one that is no success."""
        url, sent = address.url, {**address.headers, **(headers or {})}
        for _ in range(_MOST_REDIRECTS + 1):
            line, reply = self._send(method, url, sent, body)
            try:
                if reply.status not in _REDIRECTS:
                    _judge(reply, address)
                    yield Answer(reply.status, reply.head, reply)
                    return
                location = reply.head.text("location").encode("latin-1").decode("utf-8", "replace")
                following = urljoin(url, location)
                _drain(reply)
            finally:
                self._give_back(line, reply)
            if key(following) != key(url):  # a token must not be sent to another server
                sent = {name: value for name, value in sent.items() if name.lower() != "authorization"}
            url = _followed(following, url, address)
        raise InvalidInput(f"{address.shown} leads from one address to the next, {_MOST_REDIRECTS} times and on.")

    def persist(self, address: Callable[[], Address], attempt: Callable[[Address], T], done: Callable[[], int]) -> T:
        """Repeats an attempt until it succeeds. `done` returns the bytes so far: tries that made progress are not counted."""
        tried, before, pause = 0, done(), self._pause
        while True:
            if self._stopping.is_set():
                raise Stopped
            where = address()
            try:
                return attempt(where)
            except Broken as error:
                if self._stopping.is_set():
                    raise Stopped from error
                if done() > before:
                    tried, before, pause = 0, done(), self._pause
                tried += 1
                if tried >= _TRIES:
                    raise Unavailable(
                        f"{where.shown} cannot be read: {error}.",
                        hint="Is its server there, and can this machine reach it? What is cached already needs no server.",
                    ) from None
            if self._stopping.wait(pause):
                raise Stopped
            pause *= 2

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ends running requests in all threads: each raises Stopped or Broken."""
        self._stopping.set()
        with self._lock:
            for line in self._busy:
                if line.connection.sock is not None:
                    with contextlib.suppress(OSError):
                        line.connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            for lines in self._idle.values():
                for line in lines:
                    line.connection.close()
            self._idle.clear()

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[WebConnection, Reply]:
        """Sends on an idle connection, or on a new one: a closed idle connection does not mean that the server is
        unavailable."""
        while True:
            line = self._take(url)
            fresh = not line.used
            try:
                return line, line.ask(method, url, headers, self.silence, body)
            except (OSError, HTTPException, ValueError) as error:
                self._give_back(line, None)
                if fresh or self._stopping.is_set() or isinstance(error, TimeoutError):
                    raise Broken(_reason(error)) from error

    def _take(self, url: str) -> WebConnection:
        with self._lock:
            if self._pid != os.getpid():  # after a fork the parent still uses these connections
                self._idle, self._busy, self._pid = {}, set(), os.getpid()
            waiting = self._idle.get(key(url))
            line = waiting.pop() if waiting else WebConnection(url)
            self._busy.add(line)
        return line

    def _give_back(self, line: WebConnection, reply: Reply | None) -> None:
        """Keeps a connection for the next request when its response was read to the end."""
        whole = reply is not None and not reply.will_close and (reply.isclosed() or reply.length == 0)
        if reply is not None:
            reply.close()
        with self._lock:
            self._busy.discard(line)
            waiting = self._idle.setdefault(line.key, [])
            if whole and len(waiting) < _MOST_IDLE and not self._stopping.is_set():
                waiting.append(line)
                return
        line.connection.close()


def _judge(reply: Reply, address: Address) -> None:
    """Raises the error for a response that is no success."""
    status, told = reply.status, f"{reply.status} {reply.reason}".strip()
    if status < 300:
        return
    said = _drain(reply)
    if address.what:
        _judge_ours(status, said, address)
    if status in _PASSING:
        raise Broken(f"its server answers {told}")
    if status in (404, 410):
        raise NotFound(f"{address.shown} is not there: its server answers {told}.", hint="Check the address.")
    if status in (401, 403):
        raise Forbidden(f"{address.shown} may not be read: its server answers {told}.")
    if status == 412:
        raise changed(address.shown)
    kind = Refused if status == 400 else RoostError
    raise kind(f"{address.shown} cannot be read: its server answers {told}.")


def _judge_ours(status: int, said: bytes, address: Address) -> NoReturn:
    """Raises the control plane's own error, which has its own reason and hint, but less about when the file was listed."""
    if status == 404:
        raise NotFound(f"{address.shown} was removed after it was listed.", hint=_AGAIN)
    if status == 412:
        raise changed(address.shown)
    try:
        fail(status, said)
    except RoostError as error:
        if status in _PASSING:
            raise Broken(error.message.rstrip(".")) from None
        raise


def changed(shown: str, what: str = "") -> Conflict:
    """The error for a file that has changed since it was listed."""
    return Conflict(
        f"{shown} has changed since it was listed{': ' + what if what else ''}.",
        hint=_AGAIN,
    )


def _followed(url: str, before: str, address: Address) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{address.shown} leads to {masked(url)!r}, which is not fetched: only http and https are.")
    if parts.scheme == "http" and urlsplit(before).scheme == "https":
        raise InvalidInput(
            f"{address.shown} leads from https to {masked(url)!r}, which anybody could change on its way."
        )
    return url


def _drain(reply: Reply) -> bytes:
    """Reads a short body, so that the connection can be used again."""
    with contextlib.suppress(OSError, HTTPException, ValueError):
        if reply.length is None or reply.length <= BLOCK:
            return reply.read(BLOCK)
    return b""


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "its server says nothing for too long"
    if isinstance(error, socket.gaierror):
        return f"its host is not known ({error.strerror})"
    text = str(error) or type(error).__name__
    return error.strerror if isinstance(error, OSError) and error.strerror else f"the connection broke ({text[:200]})"
