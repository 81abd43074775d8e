"""An exchange: one request on its way to an answer. Made by a client's connection, held by a queue or a worker, ended once."""

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
    """What goes back: headers are checked, and hold neither length nor connection."""

    status: int
    body: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=lambda: [JSON_TYPE])


def refusal(status: int, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    """An answer of the front's own: the message as JSON, in the same form as a script's failure."""
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
    """Monotonic, when the last byte was here."""
    request_id: bytes
    deliver: Callable[[Exchange, Answer], None]
    """Gives the answer to whoever asked; called once, from the loop."""
    gone: bool = False
    """Nobody waits for the answer any more."""
    version: str = ""
    worker: WorkerLink | None = None
    number: int = 0
    started: float = 0.0
    """Monotonic, since when a worker is at it; 0 while it only lies there, sent ahead."""
    queued: float = 0.0
    """Monotonic, since when it waits for a worker; anew when it is to be tried once more."""
    tries: int = 0
    """Workers that were lost while they were at it."""
    recalled: bool = False
    answered: bool = False

    def answer(self, answer: Answer) -> None:
        """The first answer counts; a late one of a worker that was given up is dropped."""
        if not self.answered:
            self.answered = True
            self.deliver(self, answer)

    def head(self, *, with_key: bool) -> bytes:
        """As the head of a REQUEST frame. The key is the front's business, and goes on only where the front asks for none."""
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
