"""Endpoints for journeys: deployed over the routes, asked over HTTP, loaded by threads that keep what they were answered."""

import http.client
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from roost import Workspace
from roost.domain.codec import decode, encode
from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Limits, Replica, Version
from roost.domain.errors import EndpointNotFound
from roost.sdk.runs import snapshots
from roost.serving.asking import ask

ECHO = "def init():\n    pass\n\ndef run(data):\n    return {text!r} + data\n"
SECONDS = 60.0


@dataclass(frozen=True)
class Service:
    """One endpoint of a workspace."""

    workspace: Workspace
    name: str = "birds"

    def version(self, script: str, **changes: object) -> Version:
        """A version whose entry script is this text."""
        folder = Path(f"source-{abs(hash(script))}")
        folder.mkdir(exist_ok=True)
        (folder / "score.py").write_text(script)
        connection = self.workspace._connection
        made = Version(
            snapshot=snapshots.take(folder, connection.bytes, connection.home, needs="score.py"),
            entry_script="score.py",
            interpreter=sys.executable,
        )
        return replace(made, **changes)  # type: ignore[arg-type]

    def put(self, script: str | Version, *, limits: Limits | None = None, **changes: Any) -> Endpoint:
        """Asks for it; `changes` are fields of the spec, or the flags."""
        version = self.version(script) if isinstance(script, str) else script
        version = replace(version, limits=limits) if limits else version
        flags = {flag: changes.pop(flag, False) for flag in ("overwrite", "update")}
        spec = EndpointSpec(**{"versions": (version,), **changes})
        return decode(Endpoint, self.call("PUT", "", json={"spec": encode(spec), **flags}))

    def deploy(self, script: str | Version, **changes: Any) -> Endpoint:
        """Asks for it and waits until it stands."""
        return self.stands(self.put(script, **changes).revision)

    def stands(self, after: int = 0, state: EndpointState | None = None) -> Endpoint:
        """As soon as it is in that state, or in any but on its way."""
        deadline = time.monotonic() + SECONDS
        endpoint = self.get()
        while endpoint.state is EndpointState.TRANSITIONING if state is None else endpoint.state is not state:
            assert time.monotonic() < deadline, f"{endpoint} is not {state}"
            endpoint = self.get(after=endpoint.revision, wait=5)
        return endpoint

    def get(self, **params: Any) -> Endpoint:
        return decode(Endpoint, self.call("GET", "", params=params))

    def call(self, method: str, path: str, **given: Any) -> Any:
        return self.workspace._connection.client.call(
            method, f"/api/workspaces/{self.workspace.name}/endpoints/{self.name}{path}", **given
        )

    def delete(self) -> bool:
        return bool(self.call("DELETE", "")["gone"])

    def replicas(self) -> list[Replica]:
        return [decode(Replica, each) for each in self.call("GET", "/replicas")["replicas"]]

    def ready(self) -> dict[str, int]:
        """The pid of each replica's worker, by run."""
        said = self.status()["ready"]
        return {each.run_id: int(said[each.socket]["pid"]) for each in self.replicas() if each.socket in said}

    def status(self) -> dict[str, Any]:
        return dict(self.call("GET", "/status"))

    @property
    def folder(self) -> Path:
        home = self.workspace._connection.home
        assert home is not None
        return home / "endpoints" / f"{self.workspace.name}.{self.name}"

    def front_pid(self) -> int:
        """Asked of the front itself: there may be no control plane."""
        return int(ask(self.folder, "status")["pid"])

    def is_gone(self) -> bool:
        try:
            self.get()
        except EndpointNotFound:
            return not self.folder.exists()
        return False


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)


def score(port: int, data: str = '"x"', *, key: str = "", seconds: float = 60.0) -> Answer:
    """One request; the answer, whatever it is. OSError when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        connection.request("POST", "/score", data.encode(), headers)
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(), {k.lower(): v for k, v in response.getheaders()})
    finally:
        connection.close()


class Load:
    """Requests from a few threads, one after the other, until it is stopped."""

    def __init__(self, port: int, threads: int = 4) -> None:
        self._port = port
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.answers: list[Answer] = []
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                answer = score(self._port)
                with self._lock:
                    self.answers.append(answer)
            except OSError as error:
                with self._lock:
                    self.errors.append(repr(error))

    def more(self, count: int) -> None:
        """Returns when so many further requests were answered."""
        wanted = len(self.answers) + count
        deadline = time.monotonic() + SECONDS
        while len(self.answers) < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    @property
    def failed(self) -> list[object]:
        return [*self.errors, *(answer for answer in self.answers if answer.status != 200)]


@contextmanager
def load(port: int, threads: int = 4) -> Iterator[Load]:
    made = Load(port, threads)
    for thread in made._threads:
        thread.start()
    try:
        yield made
    finally:
        made._over.set()
        for thread in made._threads:
            thread.join(SECONDS)
