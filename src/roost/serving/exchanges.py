"""An exchange: one request and its answer. A client's connection creates it, a queue or a worker holds it; it is answered
once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.serving.workers import WorkerLink

JSON_TYPE = (b"content-type", b"application/json")


@dataclass(slots=True)
class Answer:
    """The answer to a client: headers are checked, and contain neither length nor connection."""

    status: int
    body: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=lambda: [JSON_TYPE])


def refusal(status: int, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    """An answer from the front itself: the message as JSON, in the same form as a script's failure."""
    return Answer(status, json.dumps({"message": message}, ensure_ascii=False).encode(), [JSON_TYPE, *headers])


def busy(message: str, retry_after: int = 1) -> Answer:
    return refusal(503, message, (b"retry-after", str(retry_after).encode()))


def too_large(limit: int) -> Answer:
    return refusal(413, f"The request has more than the {limit} bytes that are allowed.")


@dataclass(slots=True, eq=False)
class Exchange:
    method: bytes
    path: bytes
    query: bytes
    headers: Mapping[bytes, bytes]
    """Names in lower case."""
    body: bytes
    arrived: float
    """Monotonic time when the last byte had arrived."""
    request_id: bytes
    deliver: Callable[[Exchange, Answer], None]
    """Delivers the answer to the client; called once, from the loop."""
    gone: bool = False
    """True when the client no longer waits for the answer."""
    version: str = ""
    worker: WorkerLink | None = None
    number: int = 0
    started: float = 0.0
    """Monotonic time since a worker handles it; 0 while it is only sent ahead."""
    queued: float = 0.0
    """Monotonic time since it waits for a worker; set again when it is retried."""
    tries: int = 0
    """Number of workers that were lost while they handled it."""
    recalled: bool = False
    answered: bool = False

    def answer(self, answer: Answer) -> None:
        """The first answer counts; a late answer from a worker that was given up is dropped."""
        if not self.answered:
            self.answered = True
            self.deliver(self, answer)

    def head(self, *, with_key: bool) -> bytes:
        """The head of a REQUEST frame. The worker gets the key only when the front itself requires none."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in self.headers.items()
            if with_key or name != b"authorization"
        }
        said = {
            "method": self.method.decode("latin-1"),
            "path": self.path.decode("latin-1"),
            "query": self.query.decode("latin-1"),
            "headers": headers,
        }
        return json.dumps(said, separators=(",", ":")).encode()
