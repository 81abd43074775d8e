"""A machine on a closed network: a network namespace whose only way out is a package index. As root, with iproute2."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real import hosts
from tests.shared.indexes import Index


@dataclass(frozen=True)
class Closed:
    """Programs are run in it with `run`."""

    network: hosts.Network
    folder: Path
    variables: dict[str, str]

    def run(self, *command: str, **variables: str) -> str:
        """What a program says there; its exit code is not looked at."""
        environment = {**self.variables, **variables}
        done = subprocess.run(
            [str(self.network.enter(0)), *command],
            env=environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def roost(self, *words: str, **variables: str) -> str:
        return self.run(str(Path(sys.executable).with_name("roost")), *words, **variables)


@contextmanager
def machine(folder: Path, wheels: Path) -> Iterator[Closed]:
    """With an index of these wheels, and no other address to be reached. Skips where none can be made."""
    hosts.check()
    network = hosts.Network(folder, folder / "hidden", 1)
    kept = ("PATH", "HOME", "PYENV_ROOT", "LANG")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    try:
        with Index(wheels, password="", host=network.address) as index:
            settings = {
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_INDEX_URL": f"http://{index.address}/simple",
                "UV_CACHE_DIR": str(folder / "uv"),
                "ROOST_HOME": str(folder / "h"),
                "CONDARC": str(folder / "condarc"),
            }
            yield Closed(network, folder, {**variables, **settings})
    finally:
        network.remove()
