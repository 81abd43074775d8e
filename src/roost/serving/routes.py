"""The paths of a front, the access check, and the answers that the front gives itself."""

import ipaddress
import json
import time
from collections.abc import Callable
from functools import lru_cache

from roost.domain.endpoints import Auth
from roost.serving import keys
from roost.serving.configuration import FrontConfig
from roost.serving.exchanges import Answer, refusal

SCORE = b"score"
_PLAIN = (b"content-type", b"text/plain; charset=utf-8")
_METRICS = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
_SCORING = (b"POST", b"GET", b"OPTIONS")
_READING = (b"GET", b"HEAD")
OPEN = (b"/", b"/healthz/live", b"/healthz/ready")
"""Liveness paths, which need no key."""


class Routes:
    """The routes of one configuration; created again at a reload."""

    def __init__(self, config: FrontConfig) -> None:
        self._config = config
        prefix = f"/api/v1/service/{config.name}".encode()
        self._names = {
            b"/score": SCORE,
            prefix + b"/score": SCORE,
            b"/swagger.json": b"swagger",
            prefix + b"/swagger.json": b"swagger",
            b"/": b"health",
            b"/healthz/live": b"health",
            b"/healthz/ready": b"ready",
            b"/metrics": b"metrics",
        }
        self._guarded = config.auth != Auth.NONE
        self._local = not self._guarded and _is_loopback(config.host)

    def name(self, path: bytes) -> bytes:
        """The name of a path that `refuse` allowed."""
        return self._names[path]

    def refuse(self, method: bytes, path: bytes, headers: dict[bytes, bytes]) -> Answer | None:
        """The answer to a refused request; None for an allowed one."""
        name = self._names.get(path)
        if name is None:
            return refusal(404, f"There is no {path[:200].decode('latin-1')!r} here; models answer at /score.")
        allowed = _SCORING if name is SCORE else _READING
        if method not in allowed:
            return refusal(
                405, f"The method {method.decode('latin-1')} is not allowed here.", (b"allow", b", ".join(allowed))
            )
        if self._guarded and path not in OPEN and not self._may(headers.get(b"authorization")):
            return refusal(
                401,
                "The request has no valid key: send the header `Authorization: Bearer KEY`."
                if self._config.auth == Auth.KEY
                else "The request has no valid token: send the header `Authorization: Bearer TOKEN`.",
                (b"www-authenticate", b"Bearer"),
            )
        if self._local and not _of_this_machine(headers):
            return refusal(
                403, "This service asks for no key and is for this machine only; the request comes from elsewhere."
            )
        return None

    def _may(self, given: bytes | None) -> bool:
        if given is None or given[:7].lower() != b"bearer ":
            return False
        presented = given[7:].strip()
        if self._config.auth == Auth.KEY:
            return keys.known(presented, self._config.keys)
        endpoint = f"{self._config.workspace}/{self._config.name}"
        return keys.valid(presented, self._config.secret, endpoint, time.time())


def text(body: str, status: int = 200) -> Answer:
    return Answer(status, body.encode(), [_PLAIN])


def metrics(body: bytes) -> Answer:
    return Answer(200, body, [_METRICS])


def json_answer(value: object) -> Answer:
    return Answer(200, json.dumps(value).encode())


def _of_this_machine(headers: dict[bytes, bytes]) -> bool:
    """False when a page of another site sends the request through this machine's browser: it names its own host or its origin, or
    the browser marks it as from another site (a link or picture has no origin)."""
    host = headers.get(b"host", b"localhost")
    if not _is_address_or_local(host):
        return False
    if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
        return False
    origin = headers.get(b"origin")
    return origin is None or origin.lower().partition(b"://")[2] == host.lower()


@lru_cache(maxsize=256)
def _is_address_or_local(host: bytes) -> bool:
    """True when a Host header names an address or this machine, with or without a port."""
    text = host.decode("latin-1").lower()
    name, _, port = text.rpartition(":")
    name = (name if name and port.isdigit() else text).strip("[]")
    return name == "localhost" or _address(name, lambda _: True)


def _is_loopback(name: str) -> bool:
    return name == "localhost" or _address(name, lambda address: address.is_loopback)


def _address(name: str, promise: Callable[[ipaddress.IPv4Address | ipaddress.IPv6Address], bool]) -> bool:
    try:
        return promise(ipaddress.ip_address(name))
    except ValueError:
        return False
