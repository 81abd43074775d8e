"""Sends requests to a front over its control socket: one JSON object per line, one answer; for any process of the same user."""

import json
import os
import socket
from pathlib import Path
from typing import Any

from roost.domain.errors import Unavailable
from roost.serving.configuration import SOCKET


def ask(folder: Path, op: str, *, timeout: float = 10.0, **fields: object) -> dict[str, Any]:
    """The front's answer to `{"op": op, **fields}`. Unavailable when no front uses this folder, or it does not answer."""
    question = json.dumps({"op": op, **fields}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            _connect(connection, folder)
            connection.sendall(question)
            with connection.makefile("rb") as answers:
                line = answers.readline()
        said = json.loads(line)
    except (OSError, ValueError) as error:
        raise Unavailable(f"The front in {folder} does not answer `{op}`: {error}.") from error
    if not isinstance(said, dict):
        raise Unavailable(f"The front in {folder} answered {line[:200]!r} to `{op}`.")
    return said


def _connect(connection: socket.socket, folder: Path) -> None:
    """Connects through the open folder, since its path may be longer than a socket's address."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection.connect(f"/proc/self/fd/{opened}/{SOCKET}")
    finally:
        os.close(opened)
