"""Records a share of a service's requests with their answers, for later analysis: JSON lines, limited in size and number."""

import base64
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roost.serving.configuration import RECORDS
from roost.serving.exchanges import Answer, Exchange
from roost.serving.logs import RotatingLines, numbered

LONGEST_BODY = 64 * 1024
"""Bytes of a body that are recorded; the record has the full size."""
LONGEST_COLLECTED = 256 * 1024
LARGEST, KEPT = 16 * 1024 * 1024, 7
FILE = "records.jsonl"


class Recorder:
    """Records a share of the exchanges of an endpoint."""

    def __init__(self, folder: Path, share: float) -> None:
        self.share = share
        self.lines = RotatingLines(folder / RECORDS / FILE, largest=LARGEST, kept=KEPT)

    def consider(self, exchange: Exchange, answer: Answer, seconds: float, replica: str, models: str) -> None:
        if self.share < 1 and random.random() >= self.share:  # noqa: S311 - a sample, no secret
            return
        record = {
            "time": time.time(),
            "id": exchange.request_id.decode("latin-1"),
            "version": exchange.version,
            "models": models,
            "replica": replica,
            "method": exchange.method.decode("latin-1"),
            "status": answer.status,
            "seconds": round(seconds, 6),
            "request_bytes": len(exchange.body),
            "answer_bytes": len(answer.body),
            **_kept("request", exchange.body),
            **_kept("answer", answer.body),
        }
        self._add(record)

    def collected(self, body: bytes, version: str, replica: str, models: str) -> None:
        """Data that a script collects is recorded at any share above 0."""
        if not self.share or len(body) > LONGEST_COLLECTED:
            return
        try:
            said = json.loads(body, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return
        if isinstance(said, dict):
            about = {"time": time.time(), "version": version, "models": models, "replica": replica}
            self._add({**about, "collected": said})

    def _add(self, record: dict[str, Any]) -> None:
        self.lines.add(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def _kept(name: str, body: bytes) -> dict[str, str]:
    """A body as text if it is text, else in base64, under a name that shows which."""
    part = body[:LONGEST_BODY]
    try:
        return {name: part.decode("utf-8")}
    except UnicodeDecodeError as error:
        if len(body) > len(part) and error.start >= len(part) - 3:  # cut within a character
            return {name: part[: error.start].decode("utf-8")}
        return {f"{name}_base64": base64.b64encode(part).decode("ascii")}


def read(folder: Path, *, limit: int = 100, before: float | None = None) -> list[dict[str, Any]]:
    """The last records of the endpoint whose front uses this folder, the newest first; before a time, if one is given.

    For any process of the same user; a line that is being written is left out.
    """
    found: list[dict[str, Any]] = []
    path = folder / RECORDS / FILE
    for file in (path, *(numbered(path, number) for number in range(1, KEPT + 1))):
        for record in _backwards(file):
            if before is None or record["time"] < before:
                found.append(record)
                if len(found) >= limit:
                    return found
    return found


def _backwards(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in reversed(lines):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("time"), (int, float)):
            yield record
