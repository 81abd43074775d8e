"""The container engine of this machine: Docker or Podman, found by its socket. The search costs a few system calls and one
request; the `docker` library is loaded only by callers that then use it.
"""

import http.client
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from roost.environments.base import BuildFailed

if TYPE_CHECKING:
    from docker import DockerClient

WAY_OUT = "Install and start Docker or Podman (systemctl start podman.socket), or name its socket in DOCKER_HOST."
_SECONDS = 30.0
_LONG = 600.0


class NoEngine(BuildFailed):
    """There is no container engine on this machine, or it does not answer."""

    code = "no_container_engine"


@dataclass(frozen=True)
class Engine:
    """An engine that answered. Each of its clients is for one thread."""

    path: str
    """The path of its socket."""
    name: str
    version: str

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def client(self, seconds: float | None = _LONG) -> "DockerClient":
        """`seconds` is how long the engine may send nothing while it works."""
        import docker  # noqa: PLC0415 - a third of a second, for those who use containers

        return docker.DockerClient(base_url=self.url, timeout=seconds)

    @cached_property
    def rootless(self) -> bool:
        """True when root in a container is this user outside."""
        options = ask(self.path, "/info").get("SecurityOptions") or ()
        return any("rootless" in str(option) for option in options)

    @property
    def has_detours(self) -> bool:
        """True when it gets images through its own proxy or mirror, so that only the engine can find out which images are
        reachable."""
        about = ask(self.path, "/info")
        mirrors = (about.get("RegistryConfig") or {}).get("Mirrors")
        return bool(about.get("HttpProxy") or about.get("HttpsProxy") or mirrors)

    @property
    def user(self) -> str:
        """The user of a container's processes that is this process's user outside."""
        return "0:0" if self.rootless else f"{os.getuid()}:{os.getgid()}"

    def has(self, image: str) -> bool:
        try:
            return bool(ask(self.path, f"/images/{quote(image, safe='')}/json"))
        except OSError:
            return False

    def variables(self, image: str) -> dict[str, str]:
        """The variables that an image sets for its programs."""
        config = ask(self.path, f"/images/{quote(image, safe='')}/json").get("Config") or {}
        return dict(each.partition("=")[::2] for each in config.get("Env") or ())


def find(own: Mapping[str, str] = os.environ) -> Engine:
    """The engine; NoEngine names the socket that does not answer, and the next step."""
    silent, known = [], places(own)
    for path in known:
        try:
            about = ask(path, "/version")
        except OSError as error:
            if len(known) == 1 or not isinstance(error, FileNotFoundError):
                silent.append(f"{path}: {error.strerror or error}")
            continue
        parts = [str(each.get("Name") or "") for each in about.get("Components") or ()]
        name = "Podman" if any("podman" in part.lower() for part in parts) else "Docker"
        return Engine(path, name, str(about.get("Version") or "?"))
    more = f" ({'; '.join(silent)})" if silent else ""
    raise NoEngine(f"There is no container engine on this machine{more}.", hint=WAY_OUT)


def places(own: Mapping[str, str]) -> list[str]:
    """Sockets where an engine may listen: the named one, else Docker's and Podman's, of the machine and of this user."""
    for variable in ("DOCKER_HOST", "CONTAINER_HOST"):
        named = own.get(variable, "")
        if named.startswith("unix://"):
            return [named.removeprefix("unix://")]
        if named:
            raise NoEngine(
                f"{variable} is {named!r}: an engine on another machine cannot see the run's folders.",
                hint="Unset it, or name the socket of an engine of this machine: unix:///path.",
            )
    mine = own.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return [
        "/var/run/docker.sock",
        f"{mine}/docker.sock",
        f"{mine}/podman/podman.sock",
        "/run/podman/podman.sock",
        str(Path.home() / ".docker" / "run" / "docker.sock"),
    ]


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask(path: str, route: str) -> Mapping[str, Any]:
    """One request without any library; OSError when there is no answer."""
    connection = _Connection(path)
    try:
        connection.request("GET", route)
        answer = connection.getresponse()
        found = json.loads(answer.read())
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(f"no engine's answer: {error}") from error
    finally:
        connection.close()
    if answer.status >= 400 or not isinstance(found, dict):
        raise OSError(str(found.get("message") if isinstance(found, dict) else found))
    return found
