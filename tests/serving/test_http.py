"""HTTP as clients speak it, well and badly, over real sockets."""

import asyncio
import json
import random
import re
import socket
import threading
import time
from typing import Any, cast

import pytest
from tests.serving.conftest import Host, read_until

from roost.serving import http


def post(body: bytes, *headers: bytes, path: bytes = b"/score", version: bytes = b"1.1") -> bytes:
    lines = [b"POST %b HTTP/%b" % (path, version), b"Host: localhost", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def statuses(text: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", text)]


def answers(count: int) -> Any:
    """Whether so many whole answers, each ending with a JSON object, are there."""
    return lambda got: got.count(b"HTTP/1.1 ") >= count and got.endswith(b"}")


def test_an_answer(served: Host) -> None:
    answer = served.score({"a": 1})
    assert (answer.status, answer.json["got"]) == (200, {"a": 1})
    assert answer.headers["content-type"] == "application/json"
    assert (answer.headers["x-roost-model"], answer.headers["x-roost-replica"]) == ("net:3", "run_a")
    assert answer.headers["x-ms-request-id"] and answer.headers["date"]
    assert served.request(path="/api/v1/service/birds/score", body={}).status == 200


def test_the_clients_own_request_id_comes_back_unless_it_is_no_id(served: Host) -> None:
    assert served.score({}, **{"x-ms-client-request-id": "mine-1"}).headers["x-ms-request-id"] == "mine-1"
    for bad in ("x" * 101, "two words", "\u00e9"):
        assert served.score({}, **{"x-ms-request-id": bad}).headers["x-ms-request-id"] != bad


def test_keep_alive_and_pipelining_keep_the_order(served: Host) -> None:
    asked = b"".join(post(json.dumps({"n": n, **({"sleep": 0.05} if n == 0 else {})}).encode()) for n in range(50))
    got = served.raw(asked, until=answers(50))
    assert statuses(got) == [200] * 50
    numbers = [json.loads(part[part.index(b"\r\n\r\n") :])["got"]["n"] for part in got.split(b"HTTP/1.1 ")[1:]]
    assert numbers == list(range(50))


def test_pipelined_refusals_stand_in_line(served: Host) -> None:
    asked = (
        post(b'{"sleep": 0.05}')
        + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
        + post(b"{}")
        + b"rubbish\r\n\r\n"
    )
    assert statuses(served.raw(asked)) == [200, 404, 200, 400]
    asked = post(b'{"sleep": 0.05}') + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50 + b"rubbish\r\n\r\n"
    assert statuses(served.raw(asked)) == [200, *[404] * 50, 400]


def test_many_early_requests_of_one_client_do_not_starve_another(served: Host) -> None:
    with served.connect() as greedy:
        threading.Thread(target=greedy.sendall, args=(post(b"{}") * 3000,)).start()
        assert served.score({"a": 1}).status == 200
        assert read_until(greedy, answers(3000)).count(b"HTTP/1.1 200") == 3000


def test_old_and_closing_clients(served: Host) -> None:
    old = post(b"{}", b"Connection: keep-alive", version=b"1.0")
    for request in (post(b"{}", version=b"1.0"), old, post(b"{}", b"Connection: close")):
        got = served.raw(request)
        assert statuses(got) == [200] and b"connection: close" in got
    with served.connect() as half:
        half.sendall(post(b'{"sleep": 0.1}'))
        half.shutdown(socket.SHUT_WR)
        assert statuses(read_until(half)) == [200]


def test_chunked_bodies(served: Host) -> None:
    head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    got = served.raw(head + b'4\r\n{"a"\r\n5;x=y\r\n: 1} \r\n0\r\nTrailer: no\r\n\r\n', until=answers(1))
    assert b'"got": {"a": 1}' in got


def test_expect_continue(served: Host) -> None:
    with served.connect() as connection:
        connection.sendall(
            b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert statuses(read_until(connection, answers(1))) == [200]
    refused = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    assert statuses(served.raw(refused)) == [404]
    assert statuses(served.raw(refused.replace(b"/nowhere", b"/score").replace(b"100-continue", b"cake"))) == [417]


def test_a_wish_for_another_protocol_is_not_heard(served: Host) -> None:
    upgrade = post(
        b'{"a": 1}', b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAA"
    )
    got = served.raw(upgrade + post(b'{"b": 2}'), until=answers(2))
    assert statuses(got) == [200, 200] and b'{"a": 1}' in got and b'{"b": 2}' in got


def test_bodies_that_are_too_large(host: Host) -> None:
    host.start(host.worker(), max_request_bytes=300_000)
    assert host.score("x" * 300_001).status == 413
    assert host.score(json.dumps({"a": "x" * 299_000})).status == 200
    told = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert statuses(host.raw(told)) == [413]
    chunked = b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert statuses(host.raw(chunked + b"10000\r\n" + b"x" * 0x10000 + (b"\r\n10000\r\n" + b"x" * 0x10000) * 4)) == [
        413
    ]
    assert host.ask("status")["in_flight"] == 0 and host.score({}).status == 200


def test_a_small_refused_body_leaves_the_connection_open(served: Host) -> None:
    got = served.raw(post(b"x" * 1000, path=b"/nowhere") + post(b"{}"), until=answers(2))
    assert statuses(got) == [404, 200]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET\r\n\r\n", 400),
        (b"POST /score HTTP/9.9\r\n\r\n", 400),
        (b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{", 400),
        (
            b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /score HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n", 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"y" * 70000 + b"\r\n\r\n", 431),
    ],
)
def test_malformed(served: Host, request_: bytes, status: int) -> None:
    got = served.raw(request_, until=lambda got: got.endswith(b"}"))
    assert statuses(got) == [status] and b'{"message": "' in got
    assert served.score({}).status == 200


def test_headers_without_end_are_cut_off(served: Host) -> None:
    with served.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: ")
        connection.sendall(b"y" * (http.MOST_HEADER_BYTES + http.LONGEST_URL))
        assert statuses(read_until(connection)) == [431]


@pytest.mark.parametrize(
    "path", ["/Score", "/score/", "//score", "/score/..", "/api/v1/service/other/score", "/%73core", "*"]
)
def test_unknown_paths(served: Host, path: str) -> None:
    assert served.request("POST", path, b"{}").status == 404


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/score"), ("DELETE", "/score"), ("HEAD", "/score"), ("POST", "/")]
)
def test_wrong_methods(served: Host, method: str, path: str) -> None:
    answer = served.request(method, path)
    assert answer.status == 405 and "GET" in answer.headers["allow"]


def test_slow_clients(served: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http, "IDLE_SECONDS", 0.2)
    for begun in (b"POST /sc", b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"):
        assert statuses(served.raw(begun)) == [408]
    assert served.raw(b"") == b""  # an idle connection is closed without a word


def test_a_client_that_reads_nothing_is_given_up(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "UNREAD_SECONDS", 0.2)
    host.start(host.worker(script="def init(): pass\ndef run(data): return 'x' * 30_000_000"))
    with host.connect() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(post(b"{}") * 2)
        while host.ask("status")["connections"] == 0 or host.ask("status")["requests"] == 0:
            pass
        while host.ask("status")["connections"]:
            pass
    assert host._front is not None and host._front.held == 0


class Filled(asyncio.Transport):
    """With so much that is still to be sent."""

    left = 5_000_000
    aborted = False

    def get_write_buffer_size(self) -> int:
        return self.left

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


def test_a_client_that_reads_slowly_gets_the_whole_answer(served: Host) -> None:
    assert served._front is not None
    client, transport, begun = http.Client(cast(http.Handler, served._front)), Filled(), time.monotonic()
    client.connection_made(transport)
    client.pause_writing()
    for second in range(0, 300, 10):
        transport.left -= 1000
        client.sweep(begun + second)
        assert not transport.aborted
    client.sweep(begun + 290 + http.UNREAD_SECONDS)
    assert not transport.aborted
    client.sweep(begun + 291 + http.UNREAD_SECONDS)
    assert transport.aborted
    client.connection_lost(None)


def test_bytes_held_are_bounded(host: Host) -> None:
    host.start(host.worker(), held_bytes=200_000)
    with host.connect() as slow:
        slow.sendall(b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150000\r\n\r\n" + b" " * 100_000)
        while host._front is None or host._front.held < 100_000:
            pass
        answer = host.score(json.dumps({"a": "x" * 120_000}))
        assert answer.status == 503 and answer.headers["retry-after"]
        slow.sendall(b" " * 49_998 + b"{}")
        assert statuses(read_until(slow, answers(1))) == [200]
    assert host.score(json.dumps({"a": "x" * 120_000})).status == 200


def test_more_connections_than_there_may_be(served: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.serving.front.MOST_CONNECTIONS", 2)
    with served.connect() as one, served.connect() as two:
        for connection in (one, two):
            connection.sendall(post(b"{}"))
            assert statuses(read_until(connection, answers(1))) == [200]
            connection.sendall(post(b"{}")[:-1])  # the next request is under way
        assert served.ask("status")["connections"] == 2
        assert statuses(served.raw(post(b"{}"))) == [503]


def test_a_script_cannot_break_the_answers_head(host: Host) -> None:
    script = """
        from roost_job.scoring.rawhttp import AMLResponse, rawhttp

        def init(): pass

        @rawhttp
        def run(request):
            evil = {"X-Evil": "a\\r\\nSet-Cookie: b", "Content-Length": "1", "bad name": "x", "ok": "1"}
            return AMLResponse(b"body", 200, evil)
    """
    host.start(host.worker(script=script))
    answer = host.score({})
    assert (answer.status, answer.body, answer.headers["ok"]) == (200, b"body", "1")
    assert answer.headers["x-evil"] == "a  Set-Cookie: b" and "set-cookie" not in answer.headers


def test_whatever_comes_the_front_lives_on(served: Host) -> None:
    """Requests with bytes changed, cut, doubled and mixed: each connection ends, nothing is held, the next one is served."""
    chance = random.Random(7)
    whole = [
        post(b'{"a": 1}', b"Content-Type: application/json"),
        b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n"
        + b'{"a": 1}\r\n0\r\n\r\n',
        b"GET /swagger.json?version=3 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS /score HTTP/1.0\r\nConnection: keep-alive, upgrade\r\nUpgrade: websocket\r\n\r\n",
    ]
    for _ in range(300):
        data = bytearray(b"".join(chance.choices(whole, k=chance.randint(1, 4))))
        for _ in range(chance.randint(0, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 1, 5))] = chance.choice(
                (b"", b"\r\n", b"\0", b"\xff", b" ", b":", b"99999999999", b"\r")
            )
        with served.connect() as connection:
            connection.sendall(data[: chance.choice((len(data), chance.randrange(len(data) + 1)))])
            connection.shutdown(socket.SHUT_WR)
            read_until(connection)
    assert served.score({"a": 1}).status == 200
    while served.ask("status")["connections"]:
        pass
    assert served._front is not None and served._front.held == 0
