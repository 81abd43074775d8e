"""What a benchmark is given: a scratch folder, sizes, the peers, and a control plane of its own to use as a person would."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench import memory
from bench.peers import Peers
from roost import Experiment, Run, ScriptRunConfig, Workspace


@dataclass(frozen=True, kw_only=True)
class Setting:
    folder: Path
    """Empty, on the disk that is measured; ROOST_HOME is inside."""
    rounds: int
    small: bool
    """Sizes that prove the benchmark runs, not that a budget is met."""
    peers: Peers
    running: int = 200
    """Runs at once, where a benchmark has many."""

    def size(self, full: int, small: int) -> int:
        return small if self.small else full

    def settle(self) -> None:
        """Before a turn that writes about a gigabyte, ours or theirs: nothing is being written any more, and the memory for it
        is there."""
        os.sync()
        if not self.small:
            memory.warm()

    @cached_property
    def experiment(self) -> Experiment:
        """An experiment of the embedded control plane, which this starts."""
        return Experiment(Workspace.from_config(path=str(self.folder)), "bench")

    def script(self, text: str) -> str:
        """A source folder with `train.py` in it; its path."""
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        (source / "train.py").write_text(text)
        return str(source)

    def submit(self, text: str, arguments: list[Any] | None = None) -> Run:
        """Submits a script of that text; its run."""
        return self.experiment.submit(ScriptRunConfig(self.script(text), script="train.py", arguments=arguments or []))

    def get(self, path: str) -> Any:
        """What a GET of the control plane's API answers."""
        return json.loads(self.get_bytes(path))

    def address(self) -> tuple[str, str]:
        """Where the control plane is, and the user's token."""
        server = json.loads((self.folder / "home" / "server.json").read_text())
        return str(server["url"]), (self.folder / "home" / "token").read_text().strip()

    def get_bytes(self, path: str) -> bytes:
        url, token = self.address()
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())


def until(ready: Callable[[], bool], *, seconds: float = 120, every: float = 0.01) -> None:
    """Returns once it is ready; TimeoutError when that takes too long."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"not ready within {seconds:.0f} s")
        time.sleep(every)


def timed(deed: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    begun = time.perf_counter()
    deed()
    return time.perf_counter() - begun


@contextmanager
def own_home(folder: Path) -> Iterator[None]:
    """ROOST_HOME inside the folder, and no other control plane in sight; what was started there is ended."""
    for name in ("ROOST_URL", "ROOST_TOKEN", "ROOST_RUN_ID"):
        os.environ.pop(name, None)
    os.environ["ROOST_HOME"] = str(folder / "home")
    try:
        yield
    finally:
        if (folder / "home" / "server.json").exists():
            subprocess.run(
                [str(Path(sys.executable).with_name("roost")), "down"], stdout=subprocess.DEVNULL, timeout=60
            )
