"""Supervises the process of a mount: starts it, answers its requests, restarts it when it was killed, and removes dead
mounts.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from roost.data.addresses import Addresses
from roost.data.cache import Cache
from roost.domain.codec import encode
from roost.domain.datastores import Item
from roost.domain.errors import RoostError

Tell = Callable[[str], None]
_START_SECONDS = 30.0
_END_SECONDS = 5.0
_READY = b'{"ready": true}\n'
_MOST_STARTS = 5
"""Starts within one minute; beyond that, the mount is given up."""


class NoMount(Exception):
    """This machine cannot mount; the text gives the reason."""


def why_not() -> str:
    """Returns the reason why this machine cannot mount; empty when it probably can."""
    if not sys.platform.startswith("linux"):
        return "mounting needs Linux"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse here"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "this user may not use /dev/fuse"
    if shutil.which("fusermount3") is None:
        return "fusermount3 is not installed (package fuse3)"
    if find_spec("mfusepy") is None:
        return "mfusepy is not installed (roost[agent] has it)"
    return ""


class Supervisor:
    """One mount. `close` may be called twice, from any thread."""

    def __init__(self, items: Sequence[Item], target: Path, cache: Cache, addresses: Addresses, tell: Tell) -> None:
        self._target = target
        self._addresses = addresses
        self._tell = tell
        self._told = {
            "items": [encode(replace(item, url="")) for item in items],
            "target": str(target),
            "home": str(cache.home),
            "limit": cache.limit,
        }
        self._closing = threading.Event()
        self._starts: list[float] = []
        self._process, self._socket = self._start()
        self._thread = threading.Thread(target=self._serve, name="roost-mount", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The id of the mount's current process."""
        return self._process.pid

    def close(self) -> None:
        self._closing.set()
        unmount(self._target)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # a process that still runs then unmounts by itself and ends
        self._thread.join(_END_SECONDS)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """Starts a process and waits until its mount is ready. Raises NoMount with the reason when it does not start."""
        ours, theirs = socket.socketpair()
        argv = [sys.executable, "-P", "-m", "roost.data.mount_process", str(theirs.fileno())]
        process = subprocess.Popen(
            argv,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        try:
            ours.sendall(json.dumps(self._told).encode() + b"\n")
            ours.settimeout(_START_SECONDS)
            ready = ours.recv(len(_READY)) == _READY
        except OSError:
            ready = False
        if not ready:
            process.kill()
            _, said = process.communicate()
            ours.close()
            unmount(self._target)
            last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it ended"]
            raise NoMount(f"its process does not start: {last[0][:200]}")
        ours.settimeout(None)
        _read_far(self._target)
        return process, ours

    def _serve(self) -> None:
        """Answers requests until the process ends; restarts it unless the mount is being closed."""
        while True:
            with self._socket.makefile("rwb") as lines, contextlib.suppress(OSError, ValueError):
                for line in lines:
                    answer = self._answer(json.loads(line))
                    if answer is not None:
                        lines.write(json.dumps(answer).encode() + b"\n")
                        lines.flush()
            self._socket.close()
            code = self._process.wait()
            if self._process.stderr:
                self._process.stderr.close()
            unmount(self._target)
            if self._closing.is_set() or not self._restart(code):
                return

    def _restart(self, code: int) -> bool:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        now = time.monotonic()
        self._starts = [start for start in self._starts if now - start < 60] + [now]
        if len(self._starts) <= _MOST_STARTS:
            with contextlib.suppress(NoMount):
                self._process, self._socket = self._start()
                self._tell(
                    f"The process of the mount {self._target} {how} and was started again. Files that were open give errors."
                )
                if self._closing.is_set():
                    unmount(self._target)
                return True
        self._tell(
            f"The process of the mount {self._target} {how} and cannot be started again: its files cannot be read."
        )
        return False

    def _answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        if "problem" in question:
            self._tell(str(question["problem"]))
            return None
        if "renew" in question:
            return {"renewed": self._addresses.renew(question["renew"])}
        try:
            address = self._addresses.of(question["address"])
        except RoostError as error:
            return {"error": error.message}
        return {"url": address.url, "headers": dict(address.headers), "what": address.what}


def unmount(target: Path) -> None:
    """Removes a mount, also a dead one or one in use. Does nothing where there is no mount."""
    if is_mounted(target):
        subprocess.run(["fusermount3", "-uz", str(target)], stderr=subprocess.DEVNULL, check=False)


def _read_far(target: Path) -> None:
    """Sets the kernel's read-ahead to 1 MB instead of 128 kB, where permitted: a read then costs the process a fifth less.
    Only for Roost's own mount: any other path lies on a disk whose settings are not Roost's to change."""
    with contextlib.suppress(OSError):
        if not is_mounted(target):
            return
        device = os.stat(target).st_dev
        Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb").write_text("1024")


def clear(folder: Path) -> int:
    """Removes every Roost mount below a folder, such as those of a killed process; returns their number."""
    found = [place for place in _mounts() if place == str(folder) or place.startswith(f"{folder}/")]
    for place in found:
        unmount(Path(place))
    return len(found)


def is_mounted(target: Path) -> bool:
    return str(target) in _mounts()


def _mounts() -> list[str]:
    """The paths of all Roost mounts. Reading /proc does not touch the file systems, so a dead mount cannot block it."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split(" ")
            if "fuse.roost" in fields:
                found.append(fields[4].encode().decode("unicode_escape").encode("latin-1").decode())
    return found
