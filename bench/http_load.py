"""Requests as fast as they are answered, over so many connections: `wrk` where it is there, else a loop of our own in a process.

python -m bench.http_load PORT PATH CONNECTIONS SECONDS BODY      our own; prints what `Load` holds, as JSON
"""

import json
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

_SCRIPT = """
wrk.method = "POST"
wrk.body = %s
wrk.headers["Content-Type"] = "application/json"
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('\\n{"requests": %%d, "seconds": %%f, "p50": %%f, "p99": %%f, "errors": %%d}\\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(99) / 1e6,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True, kw_only=True)
class Load:
    requests: int
    seconds: float
    p50: float
    """Seconds."""
    p99: float
    errors: int

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def load(port: int, path: str, body: str, *, connections: int, seconds: float) -> Load:
    """What a service at this port of loopback gives. RuntimeError when any answer was an error."""
    wrk = program()
    if wrk:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "post.lua")
            script.write_text(_SCRIPT % json.dumps(body))
            argv = [wrk, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}", "--timeout", "30", "-s", str(script)]
            out = subprocess.run(
                [*argv, f"http://127.0.0.1:{port}{path}"], stdout=subprocess.PIPE, text=True, check=True
            )
    else:
        argv = [sys.executable, "-m", "bench.http_load", str(port), path, str(connections), str(seconds), body]
        out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    found = Load(**json.loads(out.stdout.splitlines()[-1]))
    if found.errors or not found.requests:
        raise RuntimeError(f"{found.errors} of {found.requests} requests to port {port} failed")
    return found


@cache
def program() -> str:
    """Where `wrk` is. Empty: there is none."""
    return shutil.which("wrk") or ""


def ours(port: int, path: str, connections: int, seconds: float, body: str) -> Load:
    """One request at a time on each of the connections, all in this thread."""
    sent = body.encode()
    request = (
        b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (
            path.encode(),
            len(sent),
            sent,
        )
    )
    chosen = selectors.DefaultSelector()
    begun: dict[socket.socket, float] = {}
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chosen.register(connection, selectors.EVENT_READ)
        begun[connection] = time.perf_counter()
        connection.sendall(request)
    took, errors, start = [], 0, time.perf_counter()
    held = dict.fromkeys(begun, b"")
    while (now := time.perf_counter()) < start + seconds:
        for key, _ in chosen.select(0.5):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            held[connection] += connection.recv(65536)
            if not _whole(held[connection]):
                continue
            errors += not held[connection].startswith(b"HTTP/1.1 200 ")
            took.append(time.perf_counter() - begun[connection])
            held[connection] = b""
            begun[connection] = time.perf_counter()
            connection.sendall(request)
    took.sort()
    middle, late = (took[int(len(took) * share)] for share in (0.5, 0.99))
    return Load(requests=len(took), seconds=now - start, p50=middle, p99=late, errors=errors)


def _whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(lengths) and len(body) >= int(lengths[0].partition(b":")[2])


if __name__ == "__main__":
    port, path, connections, seconds, body = sys.argv[1:]
    print(json.dumps(asdict(ours(int(port), path, int(connections), float(seconds), body))))
