"""Clients that send slowly, or nothing, or come in crowds: they end with words, and nobody else waits for them."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer, served
from tests.shared.clients import Client
from tests.shared.contexts import submit
from tests.shared.processes import ServerProcess, start
from tests.shared.servers import until
from tests.shared.slow import connect, holding, seconds_of, slow_bodies, slow_heads, still_open

from roost.api import bodies
from roost.api.bodies import BodyLimits
from roost.blobs.hashing import hash_bytes
from roost.server import connections, pace
from roost.server.connections import Room

MANY = 500


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ServerProcess]:
    made = start(tmp_path / "home")
    yield made
    assert made.end() == 0


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    with served(tmp_path) as made:
        yield made


def _work(person: Client) -> None:
    """What a client does all day, a large body among it."""
    assert person.get("/api/server").status == 200
    assert person.get("/api/workspaces").status == 200
    data = os.urandom(300_000)
    assert person.put(f"/api/blobs/{hash_bytes(data)}", data).json == {"size": len(data)}
    assert person.post("/api/blobs/missing", {"names": [hash_bytes(data)]}).json == {"missing": []}


def test_five_hundred_slow_uploads_and_heads_stop_nobody(own: ServerProcess) -> None:
    person = own.person
    alone = seconds_of(lambda: person.get("/api/server"), 50)
    with (
        holding(MANY, own.url, person.token, slow_bodies) as uploads,
        holding(MANY, own.url, person.token, slow_heads) as heads,
    ):
        for _ in range(5):
            _work(person)
        crowded = seconds_of(lambda: person.get("/api/server"), 100)
        print(
            f"\nGET /api/server: p50 {1000 * alone[25]:.1f} ms alone; with {still_open(uploads)} slow uploads and "
            f"{still_open(heads)} slow heads p50 {1000 * crowded[50]:.1f} ms, p99 {1000 * crowded[98]:.1f} ms"
        )


def _answer(raw: socket.socket) -> tuple[int, dict[str, str]]:
    """Status and error of the one answer that comes before the connection ends."""
    pieces = []
    while piece := raw.recv(65536):
        pieces.append(piece)
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize("number", range(4), ids=["stored", "chunked", "batch", "json"])
def test_a_body_that_comes_too_slowly_ends_with_words(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(pace, "WINDOW_SECONDS", 0.3)
    with closing(connect(api.url)) as raw:
        raw.sendall(slow_bodies(api.url, api.person.token, number) + b"some")
        status, error = _answer(raw)
    assert (status, error["code"]) == (408, "too_slow")
    assert "4 bytes came within 0 seconds, less than 4096 a second" in error["message"]
    assert api.person.get("/api/server").status == 200


def test_a_body_with_pauses_comes_whole(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "WINDOW_SECONDS", 0.4)
    monkeypatch.setattr(pace, "SLOWEST", 100)
    for way in ("Content-Length: 1000", "Transfer-Encoding: chunked"):
        data = os.urandom(1000)
        head = slow_bodies(api.url, api.person.token, 0).partition(b"\r\nContent-Length")[0].decode()
        asked = head.replace(f"{0:064x}", hash_bytes(data)) + f"\r\n{way}\r\nConnection: close\r\n\r\n"
        with closing(connect(api.url)) as raw:
            raw.sendall(asked.encode())
            for start_at in range(0, 1000, 100):
                piece = data[start_at : start_at + 100]
                raw.sendall(b"64\r\n" + piece + b"\r\n" if "chunked" in way else piece)
                time.sleep(0.1)  # the client's own slowness is what is tested
            if "chunked" in way:
                raw.sendall(b"0\r\n\r\n")
            assert raw.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_head_that_comes_too_slowly_ends_with_words(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with closing(connect(api.url)) as raw:
        raw.sendall(slow_heads(api.url, api.person.token, 0))
        status, error = _answer(raw)
    assert (status, error["code"]) == (408, "too_slow")


def test_a_head_without_end_is_refused(api: ApiServer) -> None:
    with closing(connect(api.url)) as raw:
        raw.sendall(slow_heads(api.url, api.person.token, 0) + b"a" * connections.HEAD_BYTES)
        status, error = _answer(raw)
    assert (status, error["code"]) == (431, "too_large")


def test_what_is_no_http_is_refused_in_the_shape_of_all_errors(api: ApiServer) -> None:
    with closing(connect(api.url)) as raw:
        raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n")
        status, error = _answer(raw)
    assert (status, error["code"]) == (400, "invalid_input")


def test_a_body_that_was_answered_already_is_not_waited_for(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OWED_SECONDS", 0.2)
    with closing(connect(api.url)) as raw:
        raw.sendall(slow_bodies(api.url, "wrong", 0))
        status, error = _answer(raw)  # until it ends
    assert (status, error["code"]) == (401, "unauthorized")


def test_idle_connections_make_way_and_busy_ones_do_not(api: ApiServer) -> None:
    run = submit(api.context)
    room = api.server.server_state.room  # type: ignore[attr-defined]
    room.most = 8
    asked = f"GET /api/runs/{run.id}?after=999&wait=20 HTTP/1.1\r\nHost: {api.url.partition('//')[2]}\r\n"
    asked += f"Authorization: Bearer {api.person.token}\r\n\r\n"
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(api.url)) for _ in range(8)]
        assert api.person.get("/api/server").status == 200
        until(lambda: len(idle) - still_open(idle) == 1)
        assert idle[0].recv(1) == b""
        polls = [stack.enter_context(connect(api.url)) for _ in range(8)]
        for each in polls:
            each.sendall(asked.encode())
        until(lambda: len(api.server.server_state.tasks) == 8)
        with closing(connect(api.url)) as raw:
            raw.sendall(asked.encode())
            status, error = _answer(raw)
        assert (status, error["code"]) == (503, "busy")
        assert "8 connections" in error["message"]
        assert still_open(polls) == 8
        api.context.signals.close()


def test_one_address_has_half_of_the_room_but_this_machine_all_of_it() -> None:
    class Stub:
        closed = False

        def make_way(self) -> None:
            self.closed = True

    room = Room(4)
    ours = [Stub() for _ in range(3)]
    assert all(room.enter(each, "127.0.0.1") for each in ours)  # type: ignore[arg-type]
    room = Room(4)
    theirs = [Stub() for _ in range(3)]
    assert all(room.enter(each, "10.0.0.7") for each in theirs)  # type: ignore[arg-type]
    assert [each.closed for each in theirs] == [True, False, False]
    for each in theirs:
        room.set_waiting(each, False)  # type: ignore[arg-type]
    assert not room.enter(Stub(), "10.0.0.7")  # type: ignore[arg-type]
    assert room.enter(Stub(), "10.0.0.8")  # type: ignore[arg-type]
    room.leave(theirs[1])  # type: ignore[arg-type]
    assert room.enter(Stub(), "10.0.0.7")  # type: ignore[arg-type]


def test_a_run_has_so_many_uploads_at_once(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_STORED_OF_RUN", 2)
    run = submit(api.context)
    client = api.run_client(run.id)
    data = os.urandom(1000)
    with holding(2, api.url, client.token, lambda url, token, number: slow_bodies(url, token, 4 * number)):
        until(lambda: _crowd(api)._of_run[run.id] == 2)
        answer = client.put(f"/api/blobs/{hash_bytes(data)}", data)
        assert (answer.status, answer.error["code"], answer.headers["retry-after"]) == (503, "busy", "1")
        assert api.person.put(f"/api/blobs/{hash_bytes(data)}", data).status == 200
    until(lambda: not api.server.server_state.tasks)
    assert client.put(f"/api/blobs/{hash_bytes(data)}", data).status == 200


def test_bodies_in_memory_are_bounded_all_together(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "HELD_LIMIT", 100_000)
    names = {"names": ["0" * 64] * 1000}
    for _ in range(3):  # each is released when it was answered
        assert api.person.post("/api/blobs/missing", names).status == 200
    with closing(connect(api.url)) as raw:
        raw.sendall(slow_bodies(api.url, api.person.token, 2) + bytes(90_000))
        until(lambda: _crowd(api)._held == 90_000)
        answer = api.person.post("/api/blobs/missing", names)
        assert (answer.status, answer.error["code"]) == (503, "busy")
    until(lambda: _crowd(api)._held == 0)
    assert api.person.post("/api/blobs/missing", names).status == 200


def _crowd(api: ApiServer) -> BodyLimits:
    limits: BodyLimits = api.server.config.app.state.limits  # type: ignore[union-attr]
    return limits
