"""Large bodies past the event loop: whole both ways, in ranges, in every form a client may send, when a peer goes away, when the
disk is full. What is sent is new to the server each time, for what it has it does not store again."""

import errno
import logging
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.shared.api_servers import served
from tests.shared.clients import Client
from tests.shared.processes import ServerProcess, start
from tests.shared.servers import until

from roost.api import answers
from roost.blobs.hashing import hash_bytes
from roost.server import protocol
from roost.server.protocol import Incoming

SIZE = 9_000_001
LARGE = 60_000_000
"""More than the sockets between two processes hold."""


@pytest.fixture
def data() -> bytes:
    return os.urandom(SIZE)


def _path(data: bytes) -> str:
    return f"/api/blobs/{hash_bytes(data)}"


def _head(server: ServerProcess, line: str, *headers: str) -> bytes:
    return _asking(server.person, line, *headers)


def _asking(person: Client, line: str, *headers: str) -> bytes:
    lines = [f"{line} HTTP/1.1", f"Host: {urlsplit(person.url).netloc}", f"Authorization: Bearer {person.token}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def _connect(server: ServerProcess) -> socket.socket:
    return _to(server.url)


def _to(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), 30)


def _all(raw: socket.socket) -> bytes:
    pieces = []
    while piece := raw.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def _unfinished(server: ServerProcess) -> list[str]:
    return os.listdir(server.home / "blobs/tmp")


@pytest.fixture
def kept(server: ServerProcess, data: bytes) -> str:
    assert server.person.put(_path(data), data).json == {"size": SIZE}
    return _path(data)


def test_whole_and_in_ranges(server: ServerProcess, data: bytes, kept: str) -> None:
    assert server.person.get(kept).body == data
    for first, last in ((0, 8_000_000), (1_000_001, 8_999_999), (5_000_000, 9_000_000)):
        answer = server.person.get(kept, headers={"Range": f"bytes={first}-{last}"})
        assert (answer.status, answer.body) == (206, data[first : last + 1])


def test_many_readers_of_one_connection(server: ServerProcess, data: bytes, kept: str) -> None:
    with _connect(server) as raw:
        raw.sendall(_head(server, f"GET {kept}") * 2 + _head(server, f"GET {kept}", "Connection: close"))
        answers = _all(raw)
    assert answers.count(data) == 3


def _in_pieces(data: bytes) -> Iterator[bytes]:
    for start_at in range(0, len(data), 777_777):
        yield data[start_at : start_at + 777_777]


def _at_once(raw: socket.socket, data: bytes) -> None:
    raw.sendall(data)


def _chunked(raw: socket.socket, data: bytes) -> None:
    for piece in _in_pieces(data):
        raw.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
    raw.sendall(b"0\r\n\r\n")


def _when_asked(raw: socket.socket, data: bytes) -> None:
    assert raw.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
    raw.sendall(data)


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize(
    ("headers", "send"),
    [
        ([f"Content-Length: {SIZE}"], _at_once),
        (["Transfer-Encoding: chunked"], _chunked),
        ([f"Content-Length: {SIZE}", "Expect: 100-continue"], _when_asked),
    ],
)
def test_every_way_to_send(
    server: ServerProcess, data: bytes, headers: list[str], send: Callable[[socket.socket, bytes], None], known: bool
) -> None:
    if known:
        assert server.person.put(_path(data), data).status == 200
    with _connect(server) as raw:
        raw.sendall(_head(server, f"PUT {_path(data)}", "Connection: close", *headers))
        send(raw, data)
        assert _all(raw).endswith(b'{"size":%d}' % SIZE)
    assert server.person.get(_path(data)).body == data
    assert _unfinished(server) == []


def test_who_sends_the_wrong_content_is_told_though_all_of_it_was_sent(server: ServerProcess, data: bytes) -> None:
    answer = server.person.put(_path(b"other"), data)
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")
    assert _unfinished(server) == []


def test_a_peer_that_goes_away_costs_nothing(server: ServerProcess, data: bytes, kept: str) -> None:
    new = os.urandom(SIZE)
    handles = Path(f"/proc/{server.process.pid}/fd")
    before = len(os.listdir(handles))
    for _ in range(20):
        with _connect(server) as raw:
            raw.sendall(_head(server, f"GET {kept}"))
            raw.recv(1000)
        with _connect(server) as raw:
            raw.sendall(_head(server, f"PUT {_path(new)}", f"Content-Length: {SIZE}") + new[:500_000])
    assert server.person.get(kept).body == data
    until(lambda: not _unfinished(server) and len(os.listdir(handles)) <= before + 10)
    assert server.person.get(_path(new)).status == 404


@pytest.mark.parametrize("abruptly", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("headers", [(), (f"Range: bytes=1000-{LARGE - 1000}",)], ids=["whole", "range"])
@pytest.mark.parametrize("by_file", [True, False], ids=["by_file", "by_pieces"])
def test_a_reader_that_leaves_is_nothing_for_the_log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    headers: tuple[str, ...],
    by_file: bool,
    abruptly: bool,
) -> None:
    if not by_file:
        monkeypatch.setattr(answers, "_BY_FILE", "nothing that a server has")
    with served(tmp_path) as api, caplog.at_level(logging.DEBUG, "roost"):
        data = os.urandom(LARGE)
        assert api.person.put(_path(data), data).status == 200
        with _to(api.url) as raw:
            raw.sendall(_asking(api.person, f"GET {_path(data)}", *headers))
            assert raw.recv(1000).startswith(b"HTTP/1.1 20")
            if abruptly:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: not api.server.server_state.connections and not api.server.server_state.tasks)
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG] == []
    assert len([record for record in caplog.records if "the reader left" in record.getMessage()]) == by_file


def test_a_reader_that_takes_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(protocol, "_STALLED_SECONDS", 0.3)
    with served(tmp_path) as api, caplog.at_level(logging.DEBUG, "roost"):
        data = os.urandom(LARGE)
        assert api.person.put(_path(data), data).status == 200
        with _to(api.url) as raw:
            raw.sendall(_asking(api.person, f"GET {_path(data)}"))
            until(lambda: any("the reader left" in record.getMessage() for record in caplog.records))
            until(lambda: not api.server.server_state.connections)
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


@pytest.mark.parametrize("by_file", [True, False], ids=["by_file", "by_pieces"])
def test_a_file_that_ends_too_early_breaks_off_the_answer_and_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, by_file: bool
) -> None:
    if not by_file:
        monkeypatch.setattr(answers, "_BY_FILE", "nothing that a server has")
    with served(tmp_path) as api, caplog.at_level(logging.INFO):
        data = os.urandom(LARGE)
        assert api.person.put(_path(data), data).status == 200
        (kept,) = (path for path in tmp_path.rglob(f"*{hash_bytes(data)[4:]}") if path.is_file())
        with _to(api.url) as raw:
            raw.sendall(_asking(api.person, f"GET {_path(data)}"))
            raw.recv(1000)
            kept.chmod(0o600)
            os.truncate(kept, LARGE // 2)
            assert 0 < len(_all(raw)) <= LARGE // 2
    (record,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert (record.name, record.levelname) == ("roost.api", "ERROR")
    assert record.getMessage() == f"GET {_path(data)} was broken off"
    assert caplog.text.count("Traceback") == 1
    assert ("The file ended after" if by_file else "shorter than Content-Length") in caplog.text


def test_it_ends_while_bodies_are_under_way(tmp_path: Path, data: bytes) -> None:
    server = start(tmp_path / "home")
    assert server.person.put(_path(data), data).status == 200
    new = os.urandom(SIZE)
    with closing(_connect(server)) as reader, closing(_connect(server)) as writer:
        reader.sendall(_head(server, f"GET {_path(data)}"))
        reader.recv(1000)
        writer.sendall(_head(server, f"PUT {_path(new)}", f"Content-Length: {SIZE}") + new[:500_000])
        until(lambda: bool(_unfinished(server)))
        server.process.terminate()
        assert server.process.wait(10) == 0
    assert _unfinished(server) == []


def test_a_disk_that_takes_no_more_is_told_at_once(tmp_path: Path, data: bytes) -> None:
    server = start(tmp_path / "home")
    try:
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (SIZE // 2, most))
        assert server.person.put(_path(data), data, timeout=30).status == 500
        assert _unfinished(server) == []
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        assert server.person.put(_path(data), data).json == {"size": SIZE}
    finally:
        server.end()


def test_what_was_taken_and_could_not_be_written_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    incoming = Incoming(ours, b"", 100_000, given_up=lambda: True)  # a wait would raise
    with theirs, closing(incoming), open("/dev/full", "wb", buffering=0) as full:
        theirs.sendall(bytes(100_000))
        with pytest.raises(OSError, match="No space left") as caught:
            incoming.pour(full.fileno(), lambda _: None)
        assert caught.value.errno == errno.ENOSPC
        assert sum(len(piece) for piece in incoming) < 100_000
