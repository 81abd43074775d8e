"""MLflow and Ray beside us: a virtual environment of their own (kept in ROOST_TEST_CACHE), a server each on loopback.

Nothing of theirs is imported here; `bench/peer_mlflow.py` and `bench/peer_ray.py` run with their Python and print JSON.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import uv

from roost.environments.pip import settings

PACKAGES = (
    "mlflow>=3.10,<4",
    "ray[default]>=2.50,<3",
    "onnxruntime>=1.20,<2",  # bench/scoring.py: a small model in two forms, and a bare endpoint of it
    "skl2onnx>=1.18,<2",
    "uvicorn[standard]>=0.40,<1",
)
HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Where the peers are. Empty strings: not here, and the lines that compare with them say so."""

    python: str = ""
    mlflow_url: str = ""
    ray_url: str = ""

    def mlflow(self, deed: str, *arguments: object) -> Any:
        """What `peer_mlflow.py` measured; None without MLflow."""
        return self._ask("peer_mlflow.py", self.mlflow_url, deed, *arguments) if self.mlflow_url else None

    def ray(self, deed: str, *arguments: object) -> Any:
        return self._ask("peer_ray.py", self.ray_url, deed, *arguments) if self.ray_url else None

    def command(self, script: str) -> list[str]:
        """A script of this folder with their Python. Without -P it would import our modules in place of packages of that name."""
        return [self.python, "-P", str(HERE / script)]

    def _ask(self, script: str, url: str, deed: str, *arguments: object) -> Any:
        argv = [*self.command(script), url, deed, *map(str, arguments)]
        done = subprocess.run(argv, capture_output=True, text=True, env=quiet(), timeout=900)
        if done.returncode:
            raise RuntimeError(f"{script} {deed} failed:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def quiet() -> dict[str, str]:
    """The environment for a peer: no telemetry, no progress bars, loopback never through a proxy."""
    return {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "180",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def cache() -> Path:
    return Path(os.environ.get("ROOST_TEST_CACHE") or Path.home() / ".cache" / "roost-tests")


def install() -> str:
    """The Python of the peers' environment, made the first time; later it is there."""
    return environment("", PACKAGES)


def environment(prefix: str, packages: Sequence[str]) -> str:
    """The Python of an environment with these packages, made by uv from where pip would get them, and kept."""
    folder = cache() / "peers" / f"{prefix}py{sys.version_info.major}{sys.version_info.minor}"
    stamp, wanted = folder / "installed", "\n".join(packages)
    python = folder / "venv" / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted or not python.exists():
        print(f"Installing {', '.join(packages)} for comparison (once)…", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        told = settings.read()
        own = settings.usable({**os.environ, **told.variables, "UV_NO_PROGRESS": "1"})
        base = getattr(sys, "_base_executable", sys.executable)
        program = uv.find_uv_bin()
        venv = ["venv", "--quiet", "--clear", "--no-project", "--python", base, str(folder / "venv")]
        subprocess.run([program, *venv], env=own, check=True)
        # Compiled as pip does it, so that no peer is measured while it compiles itself.
        words = ["--quiet", "--compile-bytecode", "--python", str(python), *told.flags, "pip", *packages]
        subprocess.run([program, "pip", "install", *words], env=own, check=True)
        stamp.write_text(wanted)
    return str(python)


@contextmanager
def mlflow_server(python: str, folder: Path) -> Iterator[str]:
    """An MLflow tracking server on SQLite with its artefact proxy, as its documentation starts one; its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    folder.mkdir(parents=True, exist_ok=True)
    argv = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    argv += [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination",
        str(folder / "artefacts"),
    ]
    with process(argv, folder / "mlflow.log"):
        await_answer(f"{url}/health", 180, folder / "mlflow.log")
        yield url


@contextmanager
def ray_head(python: str, folder: Path) -> Iterator[str]:
    """A Ray head on loopback with its job server; its address. It stays in the foreground so that it ends with us."""
    dashboard, port = free_port(), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    argv = [python, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block"]
    argv += [
        f"--port={port}",
        f"--dashboard-port={dashboard}",
        "--dashboard-host=127.0.0.1",
        "--node-ip-address=127.0.0.1",
    ]
    # Ray makes Unix sockets in this folder, and their paths may have 107 bytes only.
    short = Path("/tmp") / f"roost-bench-ray-{os.getpid()}"
    argv += [f"--temp-dir={short}", "--num-cpus=2", "--disable-usage-stats", "--include-dashboard=true"]
    url = f"http://127.0.0.1:{dashboard}"
    try:
        with process(argv, folder / "ray.log"):
            await_answer(f"{url}/api/version", 240, folder / "ray.log")
            yield url
    finally:
        subprocess.run(["rm", "-rf", str(short)], check=False)


@contextmanager
def process(argv: list[str], log: Path) -> Iterator[None]:
    """A program in a session of its own; at the end everything in that session is ended, politely first."""
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env=quiet(), start_new_session=True)
    try:
        yield
    finally:
        _signal(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def await_answer(url: str, seconds: float, log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            opener.open(url, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"{url} was not there within {seconds:.0f} s:\n{log.read_text()[-2000:]}")


def await_rest(share: float = 0.1, seconds: float = 60) -> None:
    """Until the machine does next to nothing: what was started has ended starting. Not for ever: some are never at rest."""
    end = time.monotonic() + seconds
    while psutil.cpu_percent(2.0) > 100 * share and time.monotonic() < end:
        pass


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
