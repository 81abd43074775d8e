"""The home folder: private, locked by one server, with the token and the file by which clients find the server."""

import json
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from roost.domain.errors import Conflict, RoostError
from roost.machine import files, locks, processes
from roost.server.settings import Settings
from roost.services import people
from roost.version import API_LEVEL, VERSION


def prepare(settings: Settings) -> None:
    """Makes the folders, for this user only."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.home.chmod(0o700)
    for folder in (settings.home / "logs", settings.blob_folder):
        folder.mkdir(exist_ok=True, mode=0o700)
    _close(settings.home)


def _close(home: Path) -> None:
    """Removes the permissions of others that an older version left on the entries of the home itself. Nobody can enter a closed
    folder, so its content, which may be large, is not walked."""
    with os.scandir(home) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
                if mode & 0o077 and not entry.is_symlink():
                    os.chmod(entry.path, mode & 0o700)


def lock(settings: Settings) -> int:
    """Takes the lock that a server holds until it ends; Conflict when another has it."""
    descriptor = locks.try_hold(settings.lock_file)
    if descriptor is None:
        raise Conflict(f"A control plane is running in {settings.home} already.")
    return descriptor


def bind(settings: Settings) -> socket.socket:
    """A listening socket: on the requested port, else the last one, else any."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    if settings.port:
        return _bind(family, settings.host, settings.port)
    last = _last_port(settings)
    if last:
        with suppress(RoostError):
            return _bind(family, settings.host, last)
    return _bind(family, settings.host, 0)


def _bind(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # With SO_REUSEADDR two sockets can bind one port while neither listens, so a port in use is refused here.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise RoostError(
            f"Cannot listen on {host} port {port}: {error.strerror}.", hint="Leave the port out to take any free one."
        ) from None
    return listener


def _last_port(settings: Settings) -> int:
    try:
        return urlsplit(json.loads(settings.server_file.read_text())["url"]).port or 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def url(settings: Settings, listener: socket.socket) -> str:
    """The address for clients on this machine."""
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)  # noqa: S104 read, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def token(settings: Settings) -> str:
    """The user's token, made at the first start."""
    try:
        kept = settings.token_file.read_text().strip()
    except FileNotFoundError:
        kept = ""
    if not kept:
        kept = people.new_token()
        files.write(settings.token_file, kept + "\n")
    return kept


def announce(settings: Settings, address: str, instance: str, started_at: float) -> None:
    """Writes the file by which clients and agents find this server."""
    pid = os.getpid()
    facts = {
        "url": address,
        "pid": pid,
        "pid_started": processes.known(pid).started,
        "version": VERSION,
        "api_level": API_LEVEL,
        "instance": instance,
        "home": str(settings.home),
        "started_at": started_at,
    }
    files.write(settings.server_file, json.dumps(facts, indent=1) + "\n")


def sign_blobs(settings: Settings, instance: str) -> None:
    """Writes this instance's name into the blob folder: a client that sees it there is on the same machine."""
    for old in settings.blob_folder.glob(".roost-*"):
        old.unlink(missing_ok=True)
    (settings.blob_folder / f".roost-{instance}").touch(mode=0o600)
