"""A bare HTTP client: it sends exactly the path and headers that a test gives, and hides nothing of the answer."""

import http.client
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_refuse)

    @property
    def error(self) -> dict[str, str]:
        """The error of an answer that must be one, in exactly the wire's shape."""
        assert self.status >= 400, self
        assert set(self.json) == {"error"}, self.json
        assert set(self.json["error"]) - {"cli_hint"} == {"code", "message", "hint"}, self.json
        found: dict[str, str] = self.json["error"]
        return found


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


@dataclass(frozen=True)
class Client:
    url: str
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request."""

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        timeout: float = 60,
    ) -> Answer:
        """`body`: bytes as they are, anything else as JSON."""
        place = urlsplit(self.url)
        assert place.hostname is not None
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            connection.request(method, path, data, {**sent, **self.headers, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **kwargs: Any) -> Answer:
        return self.call("GET", path, **kwargs)

    def post(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("POST", path, body, **kwargs)

    def put(self, path: str, body: Any = None, **kwargs: Any) -> Answer:
        return self.call("PUT", path, body, **kwargs)
