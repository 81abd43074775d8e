"""Bytes to and from a control plane on another machine: over HTTP alone, large files sent while they are hashed."""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.shared.processes import ServerProcess, start

from roost.blobs import copying
from roost.blobs.hashing import hash_file
from roost.domain.errors import Unavailable
from roost.transport import carrying
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint, path_of

LARGE = carrying.LARGE + 1_234_567


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    made = start(tmp_path_factory.mktemp("far") / "home")
    yield made
    made.end()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with closing(Client(lambda: Endpoint(server.url, server.person.token))) as made:
        yield made


@pytest.fixture
def carrier(client: Client) -> Carrier:
    made = Carrier(client)
    made.__dict__["shared"] = None  # as it finds on another machine
    return made


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(os.urandom(LARGE))
    return path


def test_there_and_back(carrier: Carrier, large: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(b"small")
    medium = tmp_path / "medium"
    medium.write_bytes(os.urandom(1_000_000))
    paths = [large, small, medium, large]
    carried = carrier.carry(paths)
    assert carried == [(hash_file(path), path.stat().st_size) for path in paths]
    for (name, _), path in zip(carried, paths, strict=True):
        back = tmp_path / "back"
        carrier.fetch(name, back)
        assert back.read_bytes() == path.read_bytes()


def test_what_is_there_is_not_sent_again(carrier: Carrier, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, size = carrier.carry([large])[0]
    sent: list[int] = []
    hashed = threading.Event()
    send, find = socket.socket.sendfile, Carrier._find

    def slowly(sock: socket.socket, file: object, offset: int = 0, count: int | None = None) -> int:
        assert hashed.wait(60)  # the hash has what processor time others leave, here none of it is a race
        time.sleep(0.001)
        sent.append(send(sock, file, offset, min(count or 4096, 4096)))  # type: ignore[arg-type]
        return sent[-1]

    def heard(self: Carrier, path: Path, over: threading.Event) -> tuple[str, bool]:
        found = find(self, path, over)
        hashed.set()
        return found

    monkeypatch.setattr(Carrier, "_find", heard)
    monkeypatch.setattr(socket.socket, "sendfile", slowly)
    assert carrier.carry([large]) == [(name, size)]
    assert sum(sent) < size


def test_a_connection_that_was_given_up_is_not_used_again(carrier: Carrier, client: Client, large: Path) -> None:
    class EnoughError(Exception):
        pass

    def enough() -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        client.call("POST", "/api/blobs", body=large, during=enough)
    assert carrier.carry([large]) == [(hash_file(large), LARGE)]


def test_a_file_that_cannot_be_hashed_is_still_sent(
    carrier: Carrier, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hash_file(large)

    def broken(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(carrying, "hash_file", broken)
    assert carrier.carry([large]) == [(expected, LARGE)]


def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_spliced", lambda *_: None)


@pytest.mark.parametrize("make", [lambda _: None, _plain], ids=["kernel", "memory"])
def test_the_progress_of_a_download_is_told(
    carrier: Carrier,
    client: Client,
    large: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[pytest.MonkeyPatch], None],
) -> None:
    name, size = carrier.carry([large])[0]
    make(monkeypatch)
    told: list[tuple[int, int]] = []
    target = tmp_path / "back"
    assert client.download(path_of("blobs", name), target, progress=lambda *each: told.append(each)) == size
    assert target.read_bytes() == large.read_bytes()
    assert told[-1] == (size, size)
    assert told == sorted(told)
    assert len(told) > 10


def test_a_file_that_the_server_cuts_short_is_not_there(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    client = Client(lambda: Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", "t"), patience=0.0)
    pid = os.fork()
    if not pid:
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 500_000)
        peer.close()
        os._exit(0)
    with closing(client), pytest.raises(Unavailable, match="No control plane answers"):
        client.download("/api/blobs/x", tmp_path / "back")
    os.waitpid(pid, 0)
    listener.close()
    assert os.listdir(tmp_path) == []
