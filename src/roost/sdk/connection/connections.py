"""How this process reaches its control plane: the one of ROOST_URL, else the embedded one. Start with `connect`.

There is one connection per address and home, shared by all objects and threads of the process.
"""

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from roost.domain.errors import RoostError, Unauthorized, Unavailable
from roost.sdk import late
from roost.sdk.connection import discovery
from roost.sdk.connection.discovery import ServerRecord
from roost.transport.client import START_ONE, Client, Endpoint

if TYPE_CHECKING:
    from roost.blobs.folder import FolderBlobs
    from roost.transport.carrying import Carrier

URL_VARIABLE, TOKEN_VARIABLE = "ROOST_URL", "ROOST_TOKEN"
CHECK_ADDRESS = f"Check {URL_VARIABLE}; without it the control plane of this machine is used."
_FIRST_PATIENCE, _WATCH_PATIENCE, _BACKGROUND_PATIENCE = 2.0, 120.0, 0.5


class Connection:
    """`client` serves a person's requests and restarts the embedded control plane. `watcher` (for waiting) and `background`
    (for shipping) survive a restart but never undo `roost down`; `watcher` waits long, `background` gives up soon because its
    caller retries."""

    def __init__(
        self, home: Path, locate: Callable[[], Endpoint], watch: Callable[[], Endpoint], hint: str = START_ONE
    ) -> None:
        self.home = home
        self.client = Client(locate, hint=hint)
        self.watcher = Client(watch, patience=_WATCH_PATIENCE, hint=hint)
        self.background = Client(watch, patience=_BACKGROUND_PATIENCE, hint=hint)
        self._locate = locate
        self.salvaging: threading.Thread | None = None

    def salvage(self, url: str) -> None:
        """Ships in the background the data that killed processes of this machine left behind."""
        if not (self.home / "spools").is_dir():
            return
        self.salvaging = late.salvage.begin(self, url)

    def close(self) -> None:
        """Closes idle connections; a later call opens them again."""
        for client in (self.client, self.watcher, self.background):
            client.close()

    @property
    def url(self) -> str:
        return self._locate().url

    @property
    def token(self) -> str:
        return self._locate().token

    @cached_property
    def bytes(self) -> "Bytes":
        return Bytes(self.client, self.home)


class Bytes:
    """Blobs at the control plane, for snapshots and uploads."""

    def __init__(self, client: Client, home: Path) -> None:
        self._client = client
        self._home = home

    @cached_property
    def carrier(self) -> "Carrier":
        return late.Carrier(self._client, self._home / "cache" / "blobs")

    @property
    def shared(self) -> "FolderBlobs | None":
        """The control plane's own folder, when it is on this machine."""
        return self.carrier.shared

    def put(self, data: bytes) -> str:
        return self.carrier.put(data)

    def carry(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        return self.carrier.carry(paths)

    def lay_out(self, manifest: str, folder: Path) -> int:
        """Writes a snapshot's files into an empty folder; returns their number."""
        return self.carrier.lay_out(manifest, folder)

    def has(self, name: str) -> bool:
        return not self._client.call("POST", "/api/blobs/missing", json={"names": [name]})["missing"]


_connections: dict[tuple[str, str, str], Connection] = {}
_lock = threading.Lock()


def connect() -> Connection:
    """The connection of this process's environment. Starts the embedded control plane if there is none."""
    named, home = elsewhere(), discovery.home()
    key = (named.url if named else "", named.token if named else "", str(home))
    with _lock:
        found = _connections.get(key)
        if found is None:
            found = _connections[key] = _remote(home, named) if named else _embedded(home)
            atexit.register(found.close)
            found.salvage(key[0])
    return found


def named_url() -> str:
    """The address in the variable; empty for this machine's own control plane."""
    return os.environ.get(URL_VARIABLE, "").strip().rstrip("/")


def elsewhere() -> Endpoint | None:
    """The control plane that the variables name; None for this machine's own. Raises Unauthorized for an invalid token."""
    url, token = named_url(), os.environ.get(TOKEN_VARIABLE, "").strip()
    if not url:
        return None
    if not token:
        raise Unauthorized(
            f"{URL_VARIABLE} names the control plane {url}, but {TOKEN_VARIABLE} is not set.",
            hint=f"Set {TOKEN_VARIABLE}, or unset {URL_VARIABLE} to use the one on this machine.",
        )
    if not (token.isascii() and token.isprintable()):
        raise Unauthorized(f"{TOKEN_VARIABLE} holds characters that no token has.", hint="Copy it again.")
    return Endpoint(url, token)


def _remote(home: Path, endpoint: Endpoint) -> Connection:
    first = Client(lambda: endpoint, patience=_FIRST_PATIENCE, hint=CHECK_ADDRESS)
    try:
        health = first.call("GET", "/api/health")
    except RoostError as error:
        raise error.with_traceback(None) from None  # the frames of the request do not help a person
    finally:
        first.close()
    if not isinstance(health, dict) or health.get("name") != "roost":
        raise Unavailable(f"What answers at {endpoint.url} is not Roost.", hint=f"Check {URL_VARIABLE}.")
    late.embedded.check_level(int(health.get("api_level", 0)), str(health.get("version", "?")), endpoint.url)
    return Connection(home, lambda: endpoint, lambda: endpoint, CHECK_ADDRESS)


def _embedded(home: Path) -> Connection:
    finder = _Finder(home)
    connection = Connection(home, finder.ensure, finder.watch)
    finder.ensure()
    return connection


class _Finder:
    """Finds the embedded control plane's address on every call: cheap while its file and process stay the same."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._record: ServerRecord | None = None
        self._endpoint: Endpoint | None = None

    def ensure(self) -> Endpoint:
        """Its address; starts it when it does not run."""
        return self._known() or self._look()

    def watch(self) -> Endpoint:
        """Its address; restarts it after a crash, but not after a shutdown."""
        known = self._known()
        if known is None and self._was_put_down():
            raise Unavailable(
                f"The control plane of {self._home} was shut down.",
                hint="Runs go on without it; `roost up` brings it back.",
            )
        return known or self._look()

    def _was_put_down(self) -> bool:
        record = discovery.read_record(self._home)
        return discovery.was_put_down(self._home, record) and not (record and discovery.is_alive(record))

    def _known(self) -> Endpoint | None:
        if self._record is None or self._signature() != self._seen or not discovery.is_alive(self._record):
            return None
        return self._endpoint

    def _look(self) -> Endpoint:
        with self._lock:
            known = self._known()
            if known is not None:
                return known
            record = late.embedded.ensure(self._home)
            endpoint = Endpoint(record.url, discovery.read_token(self._home))
            self._record, self._endpoint, self._seen = record, endpoint, self._signature()
            return endpoint

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            seen = discovery.record_path(self._home).stat()
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_size
