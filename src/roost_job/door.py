"""The door: a script's requests to its agent, for everything that the spool cannot do. One JSON line over a Unix socket, one line
back.

Each request has its own connection (a fraction of a millisecond), so there is no shared state: any thread and any forked process
may send one, and a restarted agent is found again. Every op is safe to repeat, so a broken request is repeated.
"""

import errno
import json
import os
import socket
import time

from roost_job.exceptions import (
    AzureMLException,
    ComputeTargetException,
    ModelNotFoundException,
    ModelPathNotFoundException,
    ServiceException,
    UserErrorException,
    WebserviceException,
)

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost as much as all the rest here
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Type

CONNECT_SECONDS = 30.0
_MAX_SOCKET_PATH = 100  # the kernel's limit is 107 bytes

_BY_CODE: "Dict[str, Type[AzureMLException]]" = {
    "invalid_input": UserErrorException,
    "not_found": UserErrorException,
    "data_not_found": UserErrorException,
    "conflict": UserErrorException,
    "data_conflict": UserErrorException,
    "too_large": UserErrorException,
    "forbidden": UserErrorException,
    "compute_not_found": ComputeTargetException,
    "model_not_found": ModelNotFoundException,
    "model_path_not_found": ModelPathNotFoundException,
    "model_conflict": WebserviceException,
    "invalid_model": WebserviceException,
}


class DoorClient(object):
    """`ask(op, **fields)` for the ops of the door's table (docs/how-it-works/wire.md)."""

    def __init__(self, path: str) -> None:
        self._path = path

    def ask(self, op: str, **fields: "Any") -> "Any":
        """The agent's answer. UserErrorException for a wrong request, ServiceException when there is no answer.

        A `timeout_seconds` among the fields limits the wait here; the agent receives it too.
        """
        question = json.dumps(dict(fields, op=op)).encode("utf-8") + b"\n"
        patience = fields.get("timeout_seconds")
        try:
            try:
                line = self._exchange(question, patience)
            except (ConnectionError, EOFError):
                line = self._exchange(question, patience)
        except socket.timeout:
            raise ServiceException(
                "The run's agent did not answer `%s` within %s seconds." % (op, patience),
                hint="Nothing is lost: what was logged is on this node's disk and is sent as soon as it can be.",
            ) from None
        except (OSError, EOFError) as error:
            raise ServiceException(
                "The run's agent cannot be reached at %s: %s." % (self._path or "ROOST_DOOR, which is not set", error),
                hint="Logging of metrics goes on without it; uploads, tags and downloads need it.",
            ) from None
        return _answer(line)

    def _exchange(self, question: bytes, patience: "Optional[float]") -> bytes:
        with self._connect() as connection:
            connection.settimeout(patience)
            connection.sendall(question)
            pieces = []
            while True:
                piece = connection.recv(1 << 16)
                if not piece:
                    raise EOFError("it hung up before it answered")
                pieces.append(piece)
                if piece.endswith(b"\n"):
                    return b"".join(pieces)

    def _connect(self) -> socket.socket:
        """A connection; waits while the agent's queue of connections is full."""
        deadline = time.time() + CONNECT_SECONDS
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.setblocking(False)  # a blocking connect to a stuck agent would never return
                _connect_to(connection, self._path)
                return connection
            except OSError as error:
                connection.close()
                if error.errno != errno.EAGAIN or time.time() > deadline:
                    raise
            time.sleep(0.01)


class KinDoor(object):
    """The same door, for requests about another run: one below the job's own, or above it."""

    def __init__(self, door: DoorClient, run_id: str) -> None:
        self._door = door
        self._run_id = run_id

    def ask(self, op: str, **fields: "Any") -> "Any":
        return self._door.ask(op, run=self._run_id, **fields)


def _connect_to(connection: socket.socket, path: str) -> None:
    """Connects; a path longer than a socket's address is reached through its open folder."""
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    finally:
        os.close(folder)


def _answer(line: bytes) -> "Any":
    try:
        said = json.loads(line.decode("utf-8"))
    except ValueError:
        said = None
    if isinstance(said, dict) and "ok" in said:
        return said["ok"]
    error = said.get("error") if isinstance(said, dict) else None
    if isinstance(error, dict):
        cls = _BY_CODE.get(str(error.get("code")), ServiceException)
        raise cls(str(error.get("message", "")), hint=str(error.get("hint", "")))
    raise ServiceException("The run's agent answered something that is not Roost's: %.200r." % line)
