"""A box: one container with one program in it, on this machine's engine. It has the given folders at their own paths, appends
both outputs to a file, and writes a note of its end beside it, so that neither depends on a connection.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roost.domain.containers import Wishes
from roost.domain.errors import RoostError
from roost.environments.containers.engine import Engine

MARK_LABEL = "roost.mark"
NOTE = "container.json"
"""The file in a run's folder that exists before the run's first container."""
VOLUMES = "ROOST_CONTAINER_VOLUMES"
"""Folders of this node that containers may mount with `-v`, separated by colons; `*` for any."""
_PAUSE = 1.0
_GPU = "/dev/nvidiactl"
# The shell is the container's first process: after the program's end it writes the exit code and the kernel's kills for lack of
# memory. As first process it also ignores the SIGTERM that is meant for the program.
_SHELL = """
log=$1 end=$2; shift 2
"$@" >>"$log" 2>&1
code=$? kills=0
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  if [ -r "$file" ]; then
    while read -r name count; do if [ "$name" = oom_kill ]; then kills=$count; fi; done <"$file"
  fi
done
echo "$code $kills" >"$end"
exit "$code"
"""
log = logging.getLogger("roost.containers")


class CannotStart(RoostError):
    """The engine refuses the container; the message is its own."""

    code = "container_failed"


@dataclass(frozen=True)
class Mount:
    source: Path
    target: str = ""
    """Empty for the same path."""
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of a box."""

    image: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    mounts: Sequence[Mount]
    folder: Path
    """The folder in which the program starts."""
    log: Path
    end: Path
    """The file for the note of its end, in a mounted folder."""
    mark: str
    """The mark of the run, which finds its containers again."""
    wishes: Wishes = field(default_factory=Wishes)
    hostname: str = ""
    """The node's name, for runs on several nodes: Open MPI treats nodes of the same name as one. Empty for the engine's own
    choice."""


class Box:
    """The constructor creates and starts it. `fd` becomes readable when the program has ended."""

    def __init__(self, engine: Engine, content: Content) -> None:
        """CannotStart with the engine's reason; then nothing is left."""
        self._engine = engine
        self._content = content
        self._code: int | None = None
        content.log.touch(mode=0o600)
        content.end.unlink(missing_ok=True)
        self._client = engine.client()
        self.id = self._start()
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        threading.Thread(target=self._wait, name="box", daemon=True).start()

    @property
    def name(self) -> str:
        return f"container {self.id[:12]}"

    @property
    def memory_kills(self) -> int:
        """How often the kernel ended one of its processes for lack of memory."""
        return self._noted()[1]

    @property
    def memory_limit(self) -> int | None:
        return self._content.wishes.memory

    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs."""
        return self._code

    def end(self, polite: float) -> None:
        """Sends SIGTERM to every process in it, SIGKILL after so many seconds; returns when it has ended or cannot be ended."""
        if self._code is None and polite > 0:
            with contextlib.suppress(Exception):  # it may be ending already
                container = self._client.containers.get(self.id)
                container.exec_run(["/bin/sh", "-c", "kill -TERM -1"], user=self._engine.user)
            self._await(polite)
        if self._code is None:
            with contextlib.suppress(Exception):
                self._client.containers.get(self.id).kill()
            self._await(3.0)

    def remove(self) -> None:
        """Removes the ended container. Safe twice."""
        with contextlib.suppress(Exception):  # it is gone, or found again by its mark
            self._client.containers.get(self.id).remove(force=True)
        with contextlib.suppress(Exception):
            self._client.close()

    def _start(self) -> str:
        import docker.errors  # noqa: PLC0415 - loaded by those who use containers
        import requests  # noqa: PLC0415

        made = None
        try:
            made = self._client.containers.create(**_settings(self._engine, self._content))
            made.start()
            return str(made.id)
        except (docker.errors.DockerException, requests.RequestException) as error:
            if made is not None:
                with contextlib.suppress(Exception):
                    made.remove(force=True)
            raise CannotStart(f"The container cannot be started: {words(error)}", hint=_hint(words(error))) from error

    def _wait(self) -> None:
        code, told = -signal.SIGKILL, False
        while True:
            try:
                code = self._ask()
                break
            except Exception as error:  # noqa: BLE001 whatever the library raises: the engine may be away, or the container
                if _is_gone(error):
                    break
                if not told:
                    log.warning("The container engine does not answer: %s", words(error))
                    told = True
                time.sleep(_PAUSE)
        noted, _ = self._noted()
        self._code = code if noted is None else noted
        os.eventfd_write(self.fd, 1)

    def _ask(self) -> int:
        """Waits for the end, on its own connection."""
        client = self._engine.client(None)
        try:
            return _signed(int(client.containers.get(self.id).wait()["StatusCode"]))
        finally:
            client.close()

    def _noted(self) -> tuple[int | None, int]:
        try:
            code, kills = self._content.end.read_text().split()
            return _signed(int(code)), int(kills)
        except (OSError, ValueError):
            return None, 0

    def _await(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._code is None and time.monotonic() < until:
            time.sleep(0.02)


def clear(engine: Engine, mark: str) -> int:
    """Removes every container with this mark, running or not; returns their number."""
    client = engine.client()
    found = client.containers.list(all=True, filters={"label": f"{MARK_LABEL}={mark}"})
    for container in found:
        with contextlib.suppress(Exception):
            container.remove(force=True)
    client.close()
    return len(found)


def words(error: Exception) -> str:
    """The message of an engine's refusal, without the library's wrapping."""
    said = getattr(error, "explanation", None) or error
    return str(said).strip().rstrip(".") + "."


def _is_gone(error: Exception) -> bool:
    return getattr(getattr(error, "response", None), "status_code", None) == 404


def _signed(code: int) -> int:
    """A shell reports 128 + N for a program that signal N ended."""
    return 128 - code if 128 < code <= 128 + signal.NSIG and code - 128 in signal.valid_signals() else code


def _settings(engine: Engine, content: Content) -> dict[str, Any]:
    import docker.types as types  # noqa: PLC0415 - loaded by those who use containers

    wishes = content.wishes
    mounts = [*content.mounts, *_volumes(wishes), Mount(content.log), Mount(content.end.parent)]
    settings: dict[str, Any] = {
        "image": content.image,
        "entrypoint": ["/bin/sh", "-c", _SHELL, "roost"],
        "command": [str(content.log), str(content.end), *content.argv],
        "environment": {**content.environment, **wishes.variables},
        "labels": {MARK_LABEL: content.mark},
        "working_dir": str(content.folder),
        "user": engine.user,
        "network_mode": wishes.network,
        "log_config": types.LogConfig(type="none"),
        "mounts": [
            types.Mount(each.target or str(each.source), str(each.source), type="bind", read_only=each.read_only)
            for each in mounts
        ],
        "ulimits": [types.Ulimit(name=name, soft=soft, hard=hard) for name, soft, hard in wishes.ulimits],
        "extra_hosts": dict(wishes.hosts),
    }
    if content.hostname:
        settings["hostname"] = content.hostname
    if wishes.ipc == "host":
        settings["ipc_mode"] = "host"
    else:
        settings["shm_size"] = wishes.shm_size
    if wishes.memory:
        settings |= {"mem_limit": wishes.memory, "memswap_limit": wishes.memory}
    if wishes.cpus:
        settings["nano_cpus"] = int(wishes.cpus * 1e9)
    gpus = wishes.gpus or ("all" if os.path.exists(_GPU) and engine.name == "Docker" else "")
    if gpus:
        settings["device_requests"] = [_gpus(types.DeviceRequest, gpus)]
    return settings


def _gpus(request: Callable[..., Any], wanted: str) -> Any:
    if wanted.startswith("device="):
        return request(device_ids=wanted.removeprefix("device=").split(","), capabilities=[["gpu"]])
    return request(count=-1 if wanted == "all" else int(wanted), capabilities=[["gpu"]])


def _volumes(wishes: Wishes, own: Mapping[str, str] = os.environ) -> list[Mount]:
    """The mounts of `-v`, where this node allows them."""
    allowed = [each for each in own.get(VOLUMES, "").split(":") if each]
    mounts = []
    for source, target, read_only in wishes.volumes:
        place = os.path.realpath(source)
        if "*" not in allowed and not any(Path(place).is_relative_to(os.path.realpath(each)) for each in allowed):
            raise CannotStart(
                f"The folder {source!r} may not be mounted on this node.",
                hint=f"Its owner lists what may in {VOLUMES}, separated by colons, and starts Roost again.",
            )
        # The path that was checked: a link in the given path may change before the engine follows it.
        mounts.append(Mount(Path(place), target, read_only))
    return mounts


def _hint(said: str) -> str:
    if "/bin/sh" in said:
        return "The image needs a shell (/bin/sh)."
    if "No such file" in said or "no such file" in said:
        return "A folder that should be mounted, or the working folder, is not there."
    return ""
