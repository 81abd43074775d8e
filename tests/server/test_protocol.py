"""Large bodies past the event loop: whole both ways, in ranges, in every form a client may send, and when a peer goes away."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.server.processes import ServerProcess, start

from roost.blobs.hashing import hash_bytes

DATA = os.urandom(9_000_001)
NAME = hash_bytes(DATA)


def _head(server: ServerProcess, line: str, *headers: str) -> bytes:
    place = urlsplit(server.url)
    lines = [f"{line} HTTP/1.1", f"Host: {place.netloc}", f"Authorization: Bearer {server.person.token}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def _connect(server: ServerProcess) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname or "", place.port or 0), 30)


def _all(raw: socket.socket) -> bytes:
    pieces = []
    while piece := raw.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.fixture
def kept(server: ServerProcess) -> str:
    assert server.person.put(f"/api/blobs/{NAME}", DATA).json == {"size": len(DATA)}
    return f"/api/blobs/{NAME}"


def test_whole_and_in_ranges(server: ServerProcess, kept: str) -> None:
    assert server.person.get(kept).body == DATA
    for first, last in ((0, 8_000_000), (1_000_001, 8_999_999), (5_000_000, 9_000_000)):
        answer = server.person.get(kept, headers={"Range": f"bytes={first}-{last}"})
        assert (answer.status, answer.body) == (206, DATA[first : last + 1])


def test_many_readers_of_one_connection(server: ServerProcess, kept: str) -> None:
    with _connect(server) as raw:
        raw.sendall(_head(server, f"GET {kept}") * 2 + _head(server, f"GET {kept}", "Connection: close"))
        answers = _all(raw)
    assert answers.count(DATA) == 3


def _in_pieces() -> Iterator[bytes]:
    for start_at in range(0, len(DATA), 777_777):
        yield DATA[start_at : start_at + 777_777]


def _chunked(raw: socket.socket) -> None:
    for piece in _in_pieces():
        raw.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
    raw.sendall(b"0\r\n\r\n")


def _when_asked(raw: socket.socket) -> None:
    assert raw.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
    raw.sendall(DATA)


@pytest.mark.parametrize(
    ("headers", "send"),
    [
        ([f"Content-Length: {len(DATA)}"], lambda raw: raw.sendall(DATA)),
        (["Transfer-Encoding: chunked"], _chunked),
        ([f"Content-Length: {len(DATA)}", "Expect: 100-continue"], _when_asked),
    ],
)
def test_every_way_to_send(server: ServerProcess, headers: list[str], send: Callable[[socket.socket], None]) -> None:
    with _connect(server) as raw:
        raw.sendall(_head(server, f"PUT /api/blobs/{NAME}", "Connection: close", *headers))
        send(raw)
        assert _all(raw).endswith(b'{"size":%d}' % len(DATA))


def test_who_sends_the_wrong_content_is_told_though_all_of_it_was_sent(server: ServerProcess) -> None:
    answer = server.person.put(f"/api/blobs/{hash_bytes(b'other')}", DATA)
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")


def test_a_peer_that_goes_away_costs_nothing(server: ServerProcess, kept: str) -> None:
    before = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    for _ in range(20):
        with _connect(server) as raw:
            raw.sendall(_head(server, f"GET {kept}"))
            raw.recv(1000)
        with _connect(server) as raw:
            raw.sendall(_head(server, f"PUT {kept}", f"Content-Length: {len(DATA)}") + DATA[:500_000])
    assert server.person.get(kept).body == DATA
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) <= before + 10


def test_it_ends_while_bodies_are_under_way(tmp_path: Path) -> None:
    server = start(tmp_path / "home")
    assert server.person.put(f"/api/blobs/{NAME}", DATA).status == 200
    with closing(_connect(server)) as reader, closing(_connect(server)) as writer:
        reader.sendall(_head(server, f"GET /api/blobs/{NAME}"))
        reader.recv(1000)
        writer.sendall(_head(server, f"PUT /api/blobs/{NAME}", f"Content-Length: {len(DATA)}") + DATA[:500_000])
        server.process.terminate()
        assert server.process.wait(10) == 0
