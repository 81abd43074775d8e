"""The front of an endpoint, a process of its own on this machine (`roost.serving`): started, configured, queried, stopped.

It has a folder, `ROOST_HOME/endpoints/<workspace>.<name>/`, and outlives the control plane. Its configuration is `front.json`
there, which it reads at every start.
"""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Container
from pathlib import Path
from typing import Any

from roost.domain.errors import EndpointConflict, InvalidInput, Unavailable
from roost.machine.ports import is_free
from roost.serving import configuration
from roost.serving import records as recorded
from roost.serving.asking import ask
from roost.serving.configuration import FrontConfig
from roost.serving.finding import is_alive

_LONGEST_SOCKET = 100  # sun_path has 108 bytes
_START_SECONDS = 20.0
_ASK_SECONDS = 5.0
_STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.02
_LOG_BYTES = 64 * 1024
LOG = "front.log"
_UNTOLD = "front.untold"
_FIRST_PORT, _LAST_PORT = 20_000, 65_000


def folder_of(home: str, workspace: str, name: str) -> Path:
    """The endpoint's folder. Neither part of its name can have a dot or a slash."""
    return Path(home) / "endpoints" / f"{workspace}.{name}"


def socket_for(folder: Path, mark: str) -> str:
    """The socket of a replica's worker: a path short enough for a socket, in a folder of its own that its container can mount."""
    path = folder / mark / "s"
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        short = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]
        path = Path(tempfile.gettempdir(), f"roost-{os.getuid()}-{short}", mark, "s")
    return str(path)


def free_port(taken: Container[int]) -> int:
    """A port that nothing listens at, outside the range that the kernel hands out, so that it is still free after a restart."""
    first, last = _given_by_kernel()
    ports = [port for port in range(_FIRST_PORT, _LAST_PORT) if not first <= port <= last]
    for port in random.sample(ports or range(_FIRST_PORT, _LAST_PORT), 1000):
        if port not in taken and is_free(port):
            return port
    raise Unavailable("No port is free for the endpoint.", hint="Give one: port=…")


def _given_by_kernel() -> tuple[int, int]:
    try:
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
        return int(first), int(last)
    except (OSError, ValueError):
        return 32768, 60999


def tell(folder: Path, config: FrontConfig) -> None:
    """Writes the front's configuration if it has changed, and makes a running front read it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    untold = folder / _UNTOLD
    if not untold.exists():
        with contextlib.suppress(InvalidInput):  # an unreadable file is written again
            if configuration.read(folder) == config:
                return
        untold.touch(mode=0o600)  # removed when the front has the change, so that a kill in between loses nothing
    configuration.write(folder, config)
    if is_alive(folder):
        answer = ask(folder, "reload", timeout=_ASK_SECONDS)
        if not answer.get("ok"):
            raise Unavailable(f"The front in {folder} does not take its configuration: {answer.get('error')}.")
    untold.unlink(missing_ok=True)


def start(folder: Path) -> None:
    """Starts the front and returns when it listens. Raises Unavailable, with its last log line, when it ends instead."""
    with contextlib.suppress(OSError):
        if (folder / LOG).stat().st_size > _LOG_BYTES:
            (folder / LOG).unlink()
    with open(os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0) as output:
        # In a session of its own: it outlives the control plane.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "roost.serving", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(Unavailable):
            if ask(folder, "status", timeout=_ASK_SECONDS).get("pid") == process.pid:
                threading.Thread(target=process.wait, name="front-reaper", daemon=True).start()
                return
        time.sleep(_LOOK_SECONDS)
    code = process.poll()
    if code is None:
        process.kill()
        process.wait()
    raise Unavailable(f"The endpoint's front cannot start (exit code {code}): {_last_words(folder)}")


def _last_words(folder: Path) -> str:
    try:
        lines = (folder / LOG).read_bytes()[-4096:].decode("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it said nothing."


def status(folder: Path) -> dict[str, Any] | None:
    """The front's status report; None when there is no front, or it does not answer."""
    try:
        return ask(folder, "status", timeout=_ASK_SECONDS)
    except Unavailable:
        return None


def wait(folder: Path, since: int, seconds: float) -> None:
    """Waits until a replica's readiness changes, or the time is over."""
    with contextlib.suppress(Unavailable):
        ask(folder, "wait", timeout=seconds + _ASK_SECONDS, since=since, seconds=seconds)


def stop(folder: Path) -> bool:
    """Asks the front to end after it has answered its open requests; kills one that does not answer. True when it is gone."""
    if not is_alive(folder):
        return True
    try:
        ask(folder, "stop", timeout=_ASK_SECONDS)
    except Unavailable:
        _kill(folder)
    deadline = time.monotonic() + _STOP_SECONDS
    while is_alive(folder) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return not is_alive(folder)


def kill(folder: Path) -> None:
    """Ends a front that takes too long to end by itself."""
    if is_alive(folder):
        _kill(folder)


def _kill(folder: Path) -> None:
    """Kills the front, found by the folder's name in its command line."""
    wanted = os.fsencode(folder)
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            if b"roost.serving" in words and wanted in words:
                os.kill(int(place.name), signal.SIGKILL)


def remove(folder: Path, sockets: list[str]) -> None:
    """Removes an endpoint's files and sockets on this machine. EndpointConflict when something is still in use."""
    for path in sockets:
        remove_socket(path)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise EndpointConflict(f"The folder {folder} of the endpoint cannot be removed.")


def remove_socket(path: str) -> None:
    """Removes a replica's socket with its folder, and the folder for short paths once it is empty."""
    place = Path(path).parent
    shutil.rmtree(place, ignore_errors=True)
    if place.parent.name.startswith("roost-"):
        with contextlib.suppress(OSError):
            place.parent.rmdir()


def records(folder: Path, limit: int, before: float | None) -> list[dict[str, Any]]:
    """The newest recorded requests, with their answers. The front is asked first to write those that it still holds."""
    with contextlib.suppress(Unavailable):
        ask(folder, "records", timeout=_ASK_SECONDS, limit=0)
    return recorded.read(folder, limit=limit, before=before)
