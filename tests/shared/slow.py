"""Clients that take their time: each holds a connection and sends a byte now and then, all of them from one thread."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

DRIP_SECONDS = 1.0
LENGTH = 10_000_000


def _head(url: str, token: str, line: str, *headers: str) -> bytes:
    lines = [f"{line} HTTP/1.1", f"Host: {urlsplit(url).netloc}", f"Authorization: Bearer {token}", *headers]
    return "\r\n".join(lines).encode()


def slow_heads(url: str, token: str, number: int) -> bytes:
    """Begins of requests whose heads never end."""
    return _head(url, token, "GET /api/server", "X-Slow: ")


def slow_bodies(url: str, token: str, number: int) -> bytes:
    """Begins of requests whose bodies never end, of every way in which a body is read."""
    blob = f"PUT /api/blobs/{number:064x}"
    line, header = (
        (blob, f"Content-Length: {LENGTH}"),
        (blob, "Transfer-Encoding: chunked"),
        ("POST /api/blobs/batch", f"Content-Length: {LENGTH}"),
        ("POST /api/workspaces/vision/runs", "Content-Length: 1000000"),
    )[number % 4]
    return _head(url, token, line, header) + b"\r\n\r\n" + (b"fffff\r\n" if "chunked" in header else b"")


def connect(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), 30)


@contextmanager
def holding(count: int, url: str, token: str, begin: Callable[[str, str, int], bytes]) -> Iterator[list[socket.socket]]:
    """So many of them, from when each has sent its beginning."""
    held = []
    for number in range(count):
        held.append(connect(url))
        held[-1].sendall(begin(url, token, number))
    over = threading.Event()
    dripping = threading.Thread(target=_drip, args=(held, over))
    dripping.start()
    try:
        yield held
    finally:
        over.set()
        dripping.join()
        for each in held:
            each.close()


def _drip(held: list[socket.socket], over: threading.Event) -> None:
    while not over.wait(DRIP_SECONDS):
        for each in held:
            try:
                each.send(b"a")
            except OSError:
                continue  # it was ended


def still_open(held: list[socket.socket]) -> int:
    """How many of them nothing was answered to."""
    ready = select.poll()
    for each in held:
        ready.register(each, select.POLLIN)
    return len(held) - len(ready.poll(0))


def seconds_of(deed: Callable[[], object], times: int) -> list[float]:
    """What each took, sorted."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        deed()
        taken.append(time.perf_counter() - begun)
    return sorted(taken)
