"""A front with real workers: the front in a thread of the test, so that a limit can be set low, the workers as processes."""

import asyncio
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from roost.serving import asking, configuration
from roost.serving.configuration import FrontConfig, FrontReplica, FrontVersion
from roost.serving.front import Front

SOURCE = Path(__file__).parents[2] / "src"
ECHO = """
    import json, os, time

    def init():
        print("loaded")

    def run(data):
        asked = json.loads(data)
        if "sleep" in asked:
            time.sleep(asked["sleep"])
        if "raise" in asked:
            raise ValueError(asked["raise"])
        if "exit" in asked:
            os._exit(asked["exit"])
        return {"got": asked, "pid": os.getpid()}
"""


class Answered:
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Host:
    """An endpoint's front and workers, in a folder of their own; ends all that it began."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="roost-s-"))  # short: sockets lie in it
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.port = 0
        self._front: Front | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # Workers

    def worker(
        self,
        name: str = "a",
        script: str = ECHO,
        *,
        python: str = sys.executable,
        variables: Mapping[str, str] | None = None,
    ) -> FrontReplica:
        """Starts a worker with this entry script; it may not listen yet."""
        source = self.folder / f"source-{name}"
        source.mkdir(exist_ok=True)
        (source / "score.py").write_text(textwrap.dedent(script), "utf-8")
        path = str(self.folder / f"{name}.sock")
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            "ROOST_SERVING_SOCKET": path,
            "AZUREML_ENTRY_SCRIPT": "score.py",
            "AZUREML_MODEL_DIR": str(self.folder),
            **(variables or {}),
        }
        if name in self.workers:
            self.workers[name].wait(20)
        with open(self.folder / f"{name}.log", "ab") as log:
            self.workers[name] = subprocess.Popen(
                [python, "-m", "roost_job.scoring"], cwd=source, env=env, stdout=log, stderr=log
            )
        return FrontReplica(socket=path, run=f"run_{name}")

    def log(self, name: str = "a") -> str:
        return (self.folder / f"{name}.log").read_text("utf-8")

    # The front

    def start(self, *replicas: FrontReplica, ready: bool = True, **settings: Any) -> "Host":
        """A front with one version; fields of FrontVersion and FrontConfig by their names."""
        self.configure(*replicas, **settings)
        config = configuration.read(self.folder)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        begun = threading.Event()

        async def serve() -> None:
            self._front = Front(self.folder, config)
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(begun.set)
            await self._front.run(listener)

        self._thread = threading.Thread(target=lambda: uvloop.run(serve()))
        self._thread.start()
        assert begun.wait(10)
        if ready:
            self.await_ready(len(replicas))
        return self

    def configure(self, *replicas: FrontReplica, **settings: Any) -> None:
        of_version = {name: settings.pop(name) for name in list(settings) if name in FrontVersion.__dataclass_fields__}
        version = FrontVersion(replicas=replicas, models=("net:3",), **of_version)
        configuration.write(
            self.folder, replace(FrontConfig(workspace="w", name="birds", versions=(version,)), **settings)
        )

    def reload(self, *replicas: FrontReplica, **settings: Any) -> None:
        self.configure(*replicas, **settings)
        assert self.ask("reload")["ok"]

    def await_ready(self, count: int) -> dict[str, Any]:
        """The status once so many workers are ready."""
        change = 0
        while len((status := self.ask("wait", since=change, seconds=30, timeout=40))["ready"]) != count:
            assert all(worker.poll() in (None, 0, 70, -9) for worker in self.workers.values()), self.folder
            change = status["change"]
        return status

    def ask(self, op: str, *, timeout: float = 10, **fields: object) -> dict[str, Any]:
        while True:
            try:
                return asking.ask(self.folder, op, timeout=timeout, **fields)
            except Exception:
                if self._thread is None or not self._thread.is_alive() or (self.folder / "front.sock").exists():
                    raise

    def stop(self) -> None:
        if self._thread is not None and self._thread.is_alive() and self._loop and self._front:
            self._loop.call_soon_threadsafe(self._front.stop)
            self._thread.join(40)
            assert not self._thread.is_alive()

    def close(self) -> None:
        try:
            self.stop()
        finally:
            for worker in self.workers.values():
                worker.kill()
                worker.wait(10)
            shutil.rmtree(self.folder)

    # A client

    def request(
        self, method: str = "POST", path: str = "/score", body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(
                method, path, json.dumps(body) if isinstance(body, dict | list) else body, dict(headers or {})
            )
            answer = connection.getresponse()
            return Answered(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def score(self, body: Any, **headers: str) -> Answered:
        return self.request(body=body, headers=headers)

    def raw(self, data: bytes, *, until: Callable[[bytes], bool] | None = None) -> bytes:
        """Sends bytes as they are; what came back until the other side hung up, or it is enough."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_until(connection, until)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


def read_until(connection: socket.socket, until: Callable[[bytes], bool] | None = None) -> bytes:
    got = b""
    while until is None or not until(got):
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    return got


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


@pytest.fixture
def served(host: Host) -> Host:
    """With one worker that echoes."""
    return host.start(host.worker())
