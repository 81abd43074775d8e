"""One connection to a web server or proxy, and one response on it. `http.client` connects, tunnels and reads bodies. Requests
and response heads are handled here: the generic code takes twice the time of a small file.
"""

import base64
import http.client
import re
import ssl
from collections.abc import Iterable, Mapping
from functools import cache
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from roost.version import VERSION

BLOCK = 256 * 1024
"""Size of the buffer for a file in transit: small enough to stay in the processor's cache from the socket to the disk."""
_CONNECT_SECONDS = 15.0
_MOST_HEAD = 64 * 1024
_AS_IT_IS = "%/:=&?~+!$,;'@()*[]"
_PLAIN = re.compile(rf"[\w.{re.escape(_AS_IT_IS)}-]*", re.ASCII)
_SERVER = re.compile(r"[^:/]+://[^/?#]*")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Head(dict[str, str]):
    """Headers of a response, names in lower case. Has the methods that `http.client` calls on headers."""

    def get(self, name: str, default: str | None = "") -> str | None:  # type: ignore[override]
        return super().get(name.lower(), default)

    def text(self, name: str) -> str:
        """The value; empty when the header is absent."""
        return super().get(name, "")

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Head":
        head = cls()
        for line in lines:
            name, _, value = line.partition(":")
            head[name.lower()] = value.strip()
        return head


class Reply(HTTPResponse):
    """A response whose head is parsed with a short, fast parser."""

    head: Head

    def begin(self) -> None:
        while True:
            version, status, reason = self._read_status()  # type: ignore[attr-defined]
            self.head = self._read_head()
            if status >= 200:
                break
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = 10 if version.startswith("HTTP/1.0") else 11
        self.headers = self.msg = self.head  # type: ignore[assignment]
        self.chunked = self.head.text("transfer-encoding").lower() == "chunked"
        self.chunk_left = None
        self.will_close = self._closes()
        length = self.head.text("content-length")
        self.length = int(length) if length.isdigit() and not self.chunked else None
        if status in (204, 304) or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        if not self.chunked and self.length is None:
            self.will_close = True

    def _read_head(self) -> Head:
        lines, size = [], 0
        while (line := self.fp.readline(_MOST_HEAD)) not in (b"\r\n", b"\n"):
            size += len(line)
            if not line or size > _MOST_HEAD:
                raise http.client.BadStatusLine("a head that does not end")
            lines.append(line.decode("latin-1"))
        return Head.of(lines)

    def _closes(self) -> bool:
        said = self.head.text("connection").lower()
        return "close" in said or (self.version == 10 and "keep-alive" not in said)


class WebConnection:
    """A connection, possibly not open yet. `used` is True once it has received a response."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.key = key(url)
        self.used = False
        proxy = _proxy(parts)
        self._through = f"http://{_host(parts)}" if proxy and parts.scheme == "http" else ""
        self._about = f"Host: {_host(parts)}\r\n{_ABOUT}"
        if proxy and self._through and proxy.username:
            self._about += f"\r\nProxy-Authorization: {_basic(proxy)}"
        self.connection = _connection(parts, proxy)

    def ask(self, method: str, url: str, headers: Mapping[str, str], seconds: float, body: bytes = b"") -> Reply:
        """Sends a request and returns its response, with the head already read."""
        if self.connection.sock is None:
            self.connection.connect()
        self.connection.sock.settimeout(seconds)
        if body:
            headers = {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}
        self.connection.sock.sendall(self.request(method, url, headers) + body)
        reply = Reply(self.connection.sock, method=method)
        try:
            reply.begin()
        except BaseException:
            reply.close()
            raise
        self.used = True
        return reply

    def request(self, method: str, url: str, headers: Mapping[str, str]) -> bytes:
        """The bytes of the request head."""
        target = url[len(self.key) :]
        if not _PLAIN.fullmatch(target):
            target = quote(target.partition("#")[0], safe=_AS_IT_IS)
        if not target.startswith("/"):
            target = f"/{target}"
        more = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        first = f"{method} {self._through}{target} HTTP/1.1"
        return f"{first}\r\n{self._about}\r\n{more}\r\n".encode("latin-1")


_ABOUT = f"User-Agent: roost/{VERSION}\r\nAccept: */*\r\nAccept-Encoding: identity"


def key(url: str) -> str:
    """Addresses with the same key can share a connection."""
    found = _SERVER.match(url)
    return found[0] if found else url


def _host(parts: SplitResult) -> str:
    host = parts.netloc.rpartition("@")[2]
    return host if host.isascii() else host.encode("idna").decode()


def is_near(url: str) -> bool:
    """True when the address is on this machine, as a route of the control plane may be."""
    host = urlsplit(url).hostname or ""
    return host in _LOOPBACK or host.startswith("127.")


def _connection(parts: SplitResult, proxy: SplitResult | None) -> HTTPConnection:
    host, port = parts.hostname or "", parts.port
    if proxy is None:
        if parts.scheme == "https":
            return HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=_context())
        return HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
    at = (proxy.hostname or "", proxy.port)
    if parts.scheme == "http":
        return HTTPConnection(*at, timeout=_CONNECT_SECONDS)
    connection = HTTPSConnection(*at, timeout=_CONNECT_SECONDS, context=_context())
    connection.set_tunnel(host, port or 443, {"Proxy-Authorization": _basic(proxy)} if proxy.username else {})
    return connection


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _proxy(parts: SplitResult) -> SplitResult | None:
    """The machine's proxy for this address; never for loopback."""
    if is_near(parts.geturl()) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    told = proxies.get(parts.scheme) or proxies.get("all") or ""
    return urlsplit(told if "://" in told else f"http://{told}") if told else None


def _basic(proxy: SplitResult) -> str:
    pair = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()
