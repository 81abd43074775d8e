"""`roost endpoint bench`: many connections that ask as fast as they are answered, in one event loop with as little as possible of
our own between the socket and the clock.
"""

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

from roost.domain.errors import InvalidEndpoint

_MOST = 1000


def check(connections: int, seconds: float) -> None:
    if not 1 <= connections <= _MOST:
        raise InvalidEndpoint(f"--connections is 1 to {_MOST}, got {connections}.")
    if not 0 < seconds <= 3600:
        raise InvalidEndpoint(f"--seconds is above 0 and at most 3600, got {seconds:g}.")


def run(
    address: str, credential: str | None, body: bytes, content_type: str, connections: int, seconds: float
) -> dict[str, Any]:
    """Requests a second, and how long answers took."""
    parts = urlsplit(address)
    lines = [
        f"POST {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *([f"Authorization: Bearer {credential}"] if credential else []),
    ]
    request = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
    return asyncio.run(_load(parts.hostname or "", parts.port or 80, request, connections, seconds))


async def _load(host: str, port: int, request: bytes, connections: int, seconds: float) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    until = begun + seconds
    clients = [_Connection(request, until, loop.create_future()) for _ in range(connections)]
    try:
        for client in clients:
            await loop.create_connection(lambda client=client: client, host, port)  # type: ignore[misc]
    except OSError as error:
        raise InvalidEndpoint(
            f"Nobody answers at {host}:{port}: {error}.", hint="roost endpoint list says which serve."
        ) from None
    await asyncio.gather(*(client.over for client in clients))
    took = time.perf_counter() - begun
    times = sorted(each for client in clients for each in client.times)
    statuses: dict[str, int] = {}
    for client in clients:
        for status, count in client.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    broken = sum(client.broken for client in clients)
    good = statuses.get("200", 0)
    return {
        "connections": connections,
        "seconds": took,
        "answered": len(times),
        "failed": len(times) - good + broken,
        "statuses": statuses,
        "requests_per_second": len(times) / took,
        **{f"p{name}_ms": 1000 * times[min(len(times) - 1, len(times) * at // 1000)] for name, at in _AT if times},
    }


_AT = (("50", 500), ("90", 900), ("99", 990), ("100", 1000))


class _Connection(asyncio.Protocol):
    """One connection: asks, waits for the whole answer, asks again, until the time is over."""

    def __init__(self, request: bytes, until: float, over: "asyncio.Future[None]") -> None:
        self.times: list[float] = []
        self.statuses: dict[str, int] = {}
        self.broken = 0
        self.over = over
        self._request = request
        self._until = until
        self._held = b""
        self._asked = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        if self._transport is not None:
            self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._held[:end].lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._held) < end + 4 + length:
            return
        now = time.perf_counter()
        self.times.append(now - self._asked)
        status = head[9:12].decode("latin-1")
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self._held = self._held[end + 4 + length :]
        if now < self._until and b"connection: close" not in head:
            self._ask()
        else:
            self._done()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whatever it was, an answer is missing
        if not self.over.done():
            self.broken += 1
            self._done()

    def _done(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
        if self._transport is not None:
            self._transport.close()


def print_report(report: dict[str, Any]) -> None:
    print(
        f"{report['requests_per_second']:,.0f} requests a second "
        f"({report['answered']:,} in {report['seconds']:.1f} s over {report['connections']} connections)"
    )
    if report["answered"]:
        print(
            f"an answer took {report['p50_ms']:.1f} ms (median), {report['p90_ms']:.1f} ms (90 %), "
            f"{report['p99_ms']:.1f} ms (99 %), {report['p100_ms']:.1f} ms at most"
        )
    if report["failed"]:
        counted = ", ".join(f"{count:,} × {status}" for status, count in sorted(report["statuses"].items()))
        print(f"{report['failed']:,} failed: {counted or 'the connection broke'}")
