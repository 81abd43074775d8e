"""`make bench`: runs the benchmarks, each in a process of its own, and prints one table.

    python -m bench [NAME …] [--rounds N] [--running N] [--small] [--without-peers] [--json] [--folder FOLDER]

The peers are started once and are idle while ours are measured. Exits with 1 when a budget is missed.
"""

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import peers as peer
from bench.setting import Setting, own_home
from bench.table import Line, render

NAMES = (
    "imports",
    "start",
    "log_call",
    "ingest",
    "read_million",
    "noop_run",
    "snapshot",
    "artefacts",
    "data",
    "environment",
    "distributed",
    "scoring",
    "load",
)
NEEDS_MLFLOW = {"imports", "log_call", "ingest", "read_million", "noop_run", "artefacts"}
NEEDS_RAY = {"noop_run"}
NEEDS_PYTHON = {"scoring"}
"""The peers' environment, and no server of theirs."""


def main() -> int:
    asked = arguments()
    if asked.one:
        return one(asked)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the peers end with us
    lines: list[Line] = []
    failed: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="roost-bench-", dir=asked.folder) as scratch,
        peers_for(asked.names, Path(scratch), wanted=not asked.without_peers) as found,
    ):
        for name in asked.names:
            begun = time.monotonic()
            got = in_own_process(name, asked, found, Path(scratch) / name)
            if got is None:
                failed.append(name)
            lines.extend(got or [])
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    missed = [line.what for line in lines if line.met is False]
    if asked.json:
        print(json.dumps({"lines": [line.as_json() for line in lines], "failed": failed, "missed": missed}, indent=1))
    else:
        print(render(lines))
        print(f"\n{len(lines)} lines, {len(missed)} over budget" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed or (missed and not asked.small) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Roost beside its peers and limits.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NAMES)}; all when none is named")
    parser.add_argument("--rounds", type=int, default=5, help="each figure is the median of so many")
    parser.add_argument("--running", type=int, default=200, help="`load`: so many runs at once")
    parser.add_argument("--small", action="store_true", help="small sizes: proves that it runs; budgets do not count")
    parser.add_argument("--without-peers", action="store_true", help="leave out MLflow and Ray")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", help="where the scratch folder is made; the disk there is what is measured")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    unknown = set(asked.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}; they are {', '.join(NAMES)}")
    asked.names = asked.names or list(NAMES)
    return asked


@contextlib.contextmanager
def peers_for(names: Sequence[str], scratch: Path, *, wanted: bool) -> Iterator[peer.Peers]:
    """The peers that these benchmarks compare with, started and idle."""
    if not wanted or not NEEDS_MLFLOW.union(NEEDS_RAY, NEEDS_PYTHON).intersection(names):
        yield peer.Peers()
        return
    with contextlib.ExitStack() as stack:
        python = peer.install()
        mlflow = ray = ""
        if NEEDS_MLFLOW.intersection(names):
            mlflow = stack.enter_context(peer.mlflow_server(python, scratch / "mlflow"))
        if NEEDS_RAY.intersection(names):
            ray = stack.enter_context(peer.ray_head(python, scratch / "ray"))
        peer.await_rest()
        yield peer.Peers(python=python, mlflow_url=mlflow, ray_url=ray)


def in_own_process(name: str, asked: argparse.Namespace, found: peer.Peers, folder: Path) -> list[Line] | None:
    """The lines of one benchmark; None when it failed, with its error printed."""
    folder.mkdir()
    argv = [sys.executable, "-m", "bench", name, "--one", str(folder), "--rounds", str(asked.rounds)]
    argv += ["--running", str(asked.running), *(["--small"] if asked.small else [])]
    told = {**os.environ, "ROOST_BENCH_PEERS": json.dumps([found.python, found.mlflow_url, found.ray_url])}
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, env=told)
    if done.returncode:
        return None
    return [Line(**line) for line in json.loads(done.stdout.splitlines()[-1])]


def one(asked: argparse.Namespace) -> int:
    """Inside that process: measure, and print the lines as JSON."""
    python, mlflow, ray = json.loads(os.environ["ROOST_BENCH_PEERS"])
    found = peer.Peers(python=python, mlflow_url=mlflow, ray_url=ray)
    setting = Setting(
        folder=Path(asked.one), rounds=asked.rounds, small=asked.small, running=asked.running, peers=found
    )
    with own_home(setting.folder):
        lines = importlib.import_module(f"bench.{asked.names[0]}").measure(setting)
    print(json.dumps([{k: v for k, v in line.as_json().items() if k not in ("ratio", "met")} for line in lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
