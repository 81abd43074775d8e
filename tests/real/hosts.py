"""Hosts for tests: network namespaces on a bridge, each with its own address, hostname and hosts file, and without sight of the
control plane's folder. What was made is taken away again. As root, with iproute2.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import skips

_NET = "10.97.{}.{}"
_ENTER = """#!/bin/sh
# Executes a command on {name}, as `ssh` would on a machine.
exec ip netns exec {space} unshare --mount --uts sh -c '
hostname {name}
mount --bind {hosts} /etc/hosts
mount -t tmpfs -o size=1m none {hidden}
exec "$@"' sh "$@"
"""


def check() -> None:
    """Skips with the reason where hosts cannot be made."""
    skips.needs("root")
    skips.needs("namespaces")
    probe = subprocess.run(
        ["ip", "netns", "add", f"roost-probe-{os.getpid()}"], capture_output=True, text=True, check=False
    )
    if probe.returncode:
        skips.skip("namespaces", f"No network namespace can be made here: {probe.stderr.strip()}")
    _ip("netns", "del", f"roost-probe-{os.getpid()}")


class Network:
    """A bridge with so many hosts. `address` is the bridge's own, where the control plane listens."""

    def __init__(self, folder: Path, hidden: Path, count: int) -> None:
        number = os.getpid() % 200 + 1
        self.bridge = f"roost{os.getpid() % 100000}"
        self.address = _NET.format(number, 1)
        self.addresses = [_NET.format(number, rank + 2) for rank in range(count)]
        self._folder, self._hidden = folder, hidden
        self._spaces: list[str] = []
        hidden.mkdir(parents=True, exist_ok=True)
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")
        for rank in range(count):
            self._add(rank)

    def _add(self, rank: int) -> None:
        space, cable = f"{self.bridge}-{rank}", f"{self.bridge}c{rank}"
        _ip("netns", "add", space)
        self._spaces.append(space)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", cable, "master", self.bridge, "up")
        _ip("-n", space, "addr", "add", f"{self.addresses[rank]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", space, "link", "set", device, "up")
        hosts = self._folder / f"hosts-{rank}"
        names = [f"{address} host-{index}" for index, address in enumerate(self.addresses)]
        hosts.write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        enter = self.enter(rank)
        enter.write_text(_ENTER.format(name=f"host-{rank}", space=space, hosts=hosts, hidden=self._hidden))
        enter.chmod(0o700)

    def enter(self, rank: int) -> Path:
        return self._folder / f"enter-{rank}"

    def home(self, rank: int) -> Path:
        """The folder of Roost on that host."""
        return self._folder / f"home-{rank}"

    def write(self, path: Path) -> None:
        """The file of hosts."""
        words = [
            f'[[host]]\naddress = "{address}"\ncommand = ["{self.enter(rank)}"]\n'
            f'python = "{sys.executable}"\nhome = "{self.home(rank)}"\n'
            for rank, address in enumerate(self.addresses)
        ]
        path.write_text("\n".join(words))

    def cut(self, rank: int) -> None:
        """Takes the host's cable away."""
        _ip("link", "set", f"{self.bridge}c{rank}", "down")

    def mend(self, rank: int) -> None:
        _ip("link", "set", f"{self.bridge}c{rank}", "up")

    def remove(self) -> None:
        for rank, space in enumerate(self._spaces):  # a cable stays as long as some process is at its other end
            _ip("link", "del", f"{self.bridge}c{rank}", check=False)
            _ip("netns", "del", space, check=False)
        _ip("link", "del", self.bridge, check=False)


def _ip(*words: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def processes_of(homes: Sequence[Path]) -> list[int]:
    """Those whose variables say that they belong to one of these folders."""
    wanted = {f"ROOST_HOME={home}".encode() for home in homes}
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted & set((place / "environ").read_bytes().split(b"\0")):
                found.append(int(place.name))
        except OSError:
            continue
    return found
