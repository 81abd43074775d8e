"""Sends requests to a service, as any HTTP client: one persistent connection to its front, with the key or token it requires.
No proxies.
"""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from roost.domain.endpoints import EndpointSpec
from roost_job.exceptions import WebserviceException

_GRACE_SECONDS = 30.0
_TRIES = 2
"""A request whose replica is lost is tried once more."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def value(self) -> Any:
        """The script's result: the value of JSON; else text, else the bytes."""
        for read in (json.loads, lambda body: body.decode("utf-8")):
            try:
                return read(self.body)
            except ValueError:
                continue
        return self.body

    def text(self) -> str:
        """The body as text, for people."""
        return self.body.decode("utf-8", "replace")


class Caller:
    """Sends requests to one address. `credential` returns the key or token, and is called again when that is refused."""

    def __init__(
        self,
        address: str,
        credential: Callable[[], str | None],
        *,
        held: str | None = None,
        timeout: float,
    ) -> None:
        """`held`: the last valid credential; `credential` is called when it is None. `timeout`: from `patience`."""
        parts = urlsplit(address)
        self.held = held
        self._path = parts.path or "/"
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        self._credential = credential

    def post(self, body: bytes, content_type: str = "application/json") -> Answer:
        """The answer; gets a changed key once more. Raises OSError when there is no answer."""
        if self.held is None:
            self.held = self._credential()
        answer = self._send(body, content_type)
        if answer.status == 401 and (fresh := self._credential()) != self.held:
            self.held = fresh
            answer = self._send(body, content_type)
        return answer

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _send(self, body: bytes, content_type: str) -> Answer:
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        if self.held:
            headers["Authorization"] = f"Bearer {self.held}"
        used = self._connection.sock is not None
        try:
            return self._exchange(body, headers)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()
            if not used:
                raise
        return self._exchange(body, headers)  # a closed idle connection does not mean that the service is unavailable

    def _exchange(self, body: bytes, headers: dict[str, str]) -> Answer:
        self._connection.request("POST", self._path, body=body, headers=headers)
        answer = self._connection.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())


def patience(spec: EndpointSpec) -> float:
    """Seconds that an answer may take: the service's own limit, waiting and one retry, and a moment for the network."""
    limits = [version.limits for version in spec.versions]
    return _TRIES * max((each.timeout_seconds + each.queue_seconds for each in limits), default=0.0) + _GRACE_SECONDS


def opens(address: str, credential: str) -> bool:
    """True when the service at that address accepts this key; False when there is no answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5.0)
    try:
        connection.request("GET", parts.path, headers={"Authorization": f"Bearer {credential}"})
        return connection.getresponse().status != 401
    except OSError:
        return True
    finally:
        connection.close()


def body_of(data: object) -> bytes:
    """The request body: bytes and text unchanged, everything else as JSON."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if isinstance(data, str):
        return data.encode("utf-8")
    try:
        return json.dumps(data).encode()
    except (TypeError, ValueError) as error:
        raise WebserviceException(
            f"The input is {type(data).__name__}, which JSON has no form for: {error}.",
            hint="Give text, bytes, or what json.dumps takes.",
        ) from None


def refused(answer: Answer) -> WebserviceException:
    """The exception for an answer other than 200, with the SDK's text."""
    error = WebserviceException(
        "Received bad response from service. More information can be found by calling `.get_logs()` on the webservice "
        f"object.\nResponse Code: {answer.status}\nHeaders: {answer.headers}\nContent: {answer.body!r}"
    )
    error.status_code = answer.status
    return error
