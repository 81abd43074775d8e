"""The agent's door: a Unix socket for all requests of the run's processes except logging. One JSON object per line, one answer to
each (docs/how-it-works/wire.md). The run's token stays on this side.
"""

import contextlib
import hashlib
import json
import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roost.agent.door.children import Family, absolute, wait_of
from roost.agent.folder import Folder, make_private
from roost.agent.link import Link
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Ship
from roost.agent.shipping.staging import Staging
from roost.domain import names
from roost.domain.errors import DiskFull, InvalidInput, RoostError, as_wire
from roost.transport.guarded_files import held

_LONGEST_PATH = 100  # sun_path has 108 bytes
_LONGEST_LINE = 64 * 1024 * 1024
PATIENCE = 60.0
"""Seconds that a script's request waits for a control plane that is away; then it gets Unavailable."""
_ANNOTATIONS = ("tags", "remove_tags", "properties", "display_name", "description")
log = logging.getLogger("roost.agent")

Request = Mapping[str, Any]


class Door:
    """Open from `listen` to `close`; each connection has a thread of its own."""

    def __init__(self, folder: Folder, link: Link, ship: Ship, staging: Staging, masks: Masks) -> None:
        self.link = link
        self._masks = masks
        self._ship = ship
        self._staging = staging
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path = place(folder)
        self.reach: Callable[[Path], Path] = Path.resolve
        """Maps a path of the script to the same file on this node, with links resolved; replaced for a container."""
        self._family = Family(link, self.settle, lambda path: self.reach(path))
        self.ops: dict[str, Callable[[Request], object]] = {
            **self._family.ops,
            "run": self._run,
            "annotate": self._annotate,
            "upload": self._upload,
            "files": self._files,
            "download": self._download,
            "metrics": self._metrics,
            "flush": self._flush,
            "secrets": self._secrets,
            "secret_names": self._secret_names,
            "uses": self._uses,
        }

    def listen(self) -> None:
        make_private(self.path.parent)
        self.path.unlink(missing_ok=True)
        self._socket.bind(str(self.path))
        self.path.chmod(0o600)
        self._socket.listen(64)
        threading.Thread(target=self._accept, name="door", daemon=True).start()

    def close(self) -> None:
        self._socket.close()
        remove(self.path)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="door-guest", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            while line := lines.readline(_LONGEST_LINE):
                connection.sendall(json.dumps(self.answer(line)).encode() + b"\n")

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one line; never raises."""
        try:
            request = _parse(line)
            op = self.ops.get(str(request.get("op")))
            if op is None:
                choices = ", ".join(sorted(self.ops))
                raise InvalidInput(f"The door has no {request.get('op')!r}.", hint=f"It has: {choices}.")
            return {"ok": op(request)}
        except RoostError as error:
            return as_wire(error)
        except Exception as error:
            log.exception("The door failed.")
            return as_wire(RoostError(f"The agent failed: {type(error).__name__}: {error}."))

    def _run(self, request: Request) -> object:
        after = request.get("after")
        params = {"after": int(after), "wait": wait_of(request)} if after is not None else None
        return self.link.client.call("GET", self._family.path(request), params=params)

    def _annotate(self, request: Request) -> object:
        change = {key: request[key] for key in _ANNOTATIONS if key in request}
        return self.link.client.call("PATCH", self._family.path(request), json=change)

    def _upload(self, request: Request) -> object:
        given = request.get("files")
        if not isinstance(given, list):
            raise InvalidInput(f"`files` must be a list of [name, path], got {type(given).__name__}.")
        pairs: list[tuple[str, Path]] = []
        for pair in given:
            if not (isinstance(pair, list) and len(pair) == 2):
                raise InvalidInput(f"`files` must be a list of [name, path], got {pair!r} in it.")
            pairs.append((names.path(pair[0]), self.reach(absolute(pair[1]))))
        return {"count": self._staging.add(pairs, _text(request, "run"))}

    def _files(self, request: Request) -> object:
        prefix = _text(request, "prefix")
        self.settle()
        answer = self.link.client.call("GET", self._family.path(request, "files"), params={"prefix": prefix or None})
        return [file["path"] for file in answer["files"]]

    def _download(self, request: Request) -> object:
        name, target = names.path(request.get("name")), self.reach(absolute(request.get("path")))
        if not target.parent.is_dir():
            raise InvalidInput(f"The folder {str(target.parent)!r} is not there.")
        self.settle()
        route = self._family.path(request, "files", name)
        with held(target.parent) as place:  # the script may replace the folder meanwhile
            try:
                return {"size": self.link.client.download(route, place / target.name)}
            except DiskFull as error:
                raise DiskFull(error.message.replace(str(place), str(target.parent)), hint=error.hint) from None

    def _metrics(self, request: Request) -> object:
        params = {
            "name": _text(request, "name") or None,
            "recursive": "true" if request.get("recursive") else None,
            "kind": request.get("kind"),
        }
        return self.link.client.call("GET", self._family.path(request, "metrics"), params=params)["metrics"]

    def _secrets(self, request: Request) -> object:
        """Masks the values in the run's logs before the script gets them."""
        wanted = request.get("names")
        if not isinstance(wanted, list) or not wanted or not all(isinstance(name, str) for name in wanted):
            raise InvalidInput(f"`names` must be a list of names, got {wanted!r}.")
        found: dict[str, str | None] = self.link.client.call(
            "GET", self.link.path("secrets", "values"), params={"name": wanted}
        )["secrets"]
        self._masks.add(value for value in found.values() if value is not None)
        return found

    def _secret_names(self, _: Request) -> object:
        return [each["name"] for each in self.link.client.call("GET", self.link.path("secrets"))["secrets"]]

    def _uses(self, request: Request) -> object:
        """The data that the run has read and written."""
        return self.link.client.call("GET", self._family.path(request, "datasets"))["uses"]

    def settle(self) -> None:
        """Returns when the script's uploads are among the run's files."""
        if self._staging.waits():
            self._ship.flush(PATIENCE)

    def _flush(self, request: Request) -> object:
        seconds = request.get("timeout_seconds")
        if seconds is None:
            seconds = PATIENCE
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise InvalidInput(f"`timeout_seconds` must be a number of seconds, got {seconds!r}.")
        self._ship.flush(seconds)
        return None


def place(folder: Folder) -> Path:
    """The path of a run's socket: in its folder, or, if that path is too long, in a folder made for the socket."""
    path = folder.root / "door.sock"
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        return path
    name = hashlib.sha256(os.fsencode(folder.root)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"roost-{os.getuid()}-{name}", "door.sock")


def remove(path: Path) -> None:
    """Removes the socket, and the folder if it was made for the socket alone. Safe twice."""
    path.unlink(missing_ok=True)
    if path.parent.name.startswith("roost-"):
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _parse(line: bytes) -> Request:
    try:
        request = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"The door takes one JSON object per line, got {line[:80]!r}.") from error
    if not isinstance(request, dict):
        raise InvalidInput(f"The door takes one JSON object per line, got {line[:80]!r}.")
    return request


def _text(request: Request, field: str) -> str:
    value = request.get(field) or ""
    if not isinstance(value, str):
        raise InvalidInput(f"`{field}` must be text, got {type(value).__name__}.")
    return value
