"""Podman with a storage of its own, so that nothing of the machine's is touched: Debian's packages, one containers.conf, a base
image made by mmdebstrap and kept in ROOST_TEST_CACHE, and the service on a socket in a folder that goes away.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests import skips
from tests.real import caches

BASE = "localhost/roost-test/base:1"
# runc, because crun refuses cgroups of both versions at once; limits, because the machine's own may be lower than the defaults.
_CONTAINERS = """
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/root"
runroot = "{folder}/run"
"""
_REGISTRIES = """
unqualified-search-registries = []
[[registry]]
location = "localhost:{port}"
insecure = true
"""
_REGISTRY = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}/registry}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}
"""


def check() -> None:
    """Skips with the reason where something is missing."""
    skips.needs("root")
    skips.needs("podman")


def base_archive() -> Path:
    """A small Debian with Python."""
    cache = caches.folder("containers")
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / "base.tar"
    if not archive.exists():
        part = cache / f"base-{os.getpid()}.tar"
        words = ["--variant=minbase", "--include=python3,ca-certificates", "bookworm", str(part)]
        subprocess.run(["mmdebstrap", "--quiet", *words], check=True)
        part.rename(archive)
    return archive


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Podman:
    """Its service and a registry that wants a password; `quit` ends both and takes everything away."""

    USER, PASSWORD = "bird", "a-secret-of-the-tests"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="roost-podman-"))
        self.port = free_port()
        self.socket = self.folder / "podman.sock"
        files = {"containers.conf": _CONTAINERS, "storage.conf": _STORAGE, "registries.conf": _REGISTRIES}
        for name, text in {**files, "registry.yml": _REGISTRY, "auth.json": "{{}}"}.items():
            filled = text.format(folder=self.folder, port=self.port) if "{" in text else text
            (self.folder / name).write_text(filled)
        self._environment = {
            **os.environ,
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
            "REGISTRY_AUTH_FILE": str(self.folder / "auth.json"),
        }
        self._processes = [self._start("podman", "system", "service", "--time", "0", f"unix://{self.socket}")]
        _until(self.socket.exists)
        self("import", str(base_archive()), BASE)

    def __call__(self, *words: str) -> str:
        done = subprocess.run(["podman", *words], env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def containers(self) -> list[str]:
        """Ids of all there are, running or not."""
        return self("ps", "--all", "--quiet").split()

    def registry(self) -> str:
        """Its address; the first who asks starts it."""
        if _listens(self.port):
            return f"localhost:{self.port}"
        words = ["htpasswd", "-Bbn", self.USER, self.PASSWORD]
        made = subprocess.run(words, capture_output=True, text=True, check=True)
        (self.folder / "htpasswd").write_text(made.stdout)
        self._processes.append(self._start("docker-registry", "serve", str(self.folder / "registry.yml")))
        _until(lambda: _listens(self.port))
        return f"localhost:{self.port}"

    def quit(self) -> None:
        with suppress(AssertionError):
            self("rm", "--all", "--force", "--time", "0")
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        subprocess.run(["umount", str(self.folder / "root" / "overlay")], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, *words: str) -> "subprocess.Popen[bytes]":
        # The registry would take a variable REGISTRY_… for a setting of its own.
        environment = {name: value for name, value in self._environment.items() if not name.startswith("REGISTRY_")}
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            # In its folder: a container that runs out of memory leaves a file `oom` where its engine was started.
            return subprocess.Popen(
                words, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _until(what: Callable[[], bool], seconds: float = 30) -> None:
    limit = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.05)
