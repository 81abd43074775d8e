"""The front of an endpoint, with clients that take their time: nobody else waits for them."""

import pytest
from tests.serving.conftest import Host
from tests.shared.slow import holding, seconds_of, still_open

from roost.serving import front

MANY = 500


def _slow_heads(url: str, token: str, number: int) -> bytes:
    return b"POST /score HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def _slow_bodies(url: str, token: str, number: int) -> bytes:
    length = b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" if number % 2 else b"Content-Length: 100000\r\n\r\n"
    return b"POST /score HTTP/1.1\r\nHost: localhost\r\n" + length


def test_five_hundred_slow_requests_and_heads_stop_nobody(served: Host) -> None:
    url = f"http://127.0.0.1:{served.port}"

    def score() -> None:
        assert served.score({"a": 1}).status == 200

    alone = seconds_of(score, 50)
    with holding(MANY, url, "", _slow_bodies) as requests, holding(MANY, url, "", _slow_heads) as heads:
        crowded = seconds_of(score, 100)
        print(
            f"\nPOST /score: p50 {1000 * alone[25]:.1f} ms alone; with {still_open(requests)} slow requests and "
            f"{still_open(heads)} slow heads p50 {1000 * crowded[50]:.1f} ms, p99 {1000 * crowded[98]:.1f} ms"
        )


def test_connections_that_do_nothing_make_way(served: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MOST_CONNECTIONS", 5)
    url = f"http://127.0.0.1:{served.port}"
    with holding(5, url, "", _slow_heads) as heads:
        for _ in range(3):
            assert served.score({"a": 1}).status == 200
        assert still_open(heads) < 5
