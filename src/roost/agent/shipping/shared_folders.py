"""`./outputs` and `./logs` of a run on several nodes of one machine: all nodes share one folder, since scripts may wait for each
other's files there. Nodes on separate machines have separate folders. Start with `join`.

In each working copy both are links into the shared folder. The agents' common state is beside it, hidden from scripts, and
changes under one lock: the files of the snapshot, the files already stored, the nodes that have left.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from roost.agent.folder import Folder, shared
from roost.agent.launching import ranks
from roost.agent.preparing import snapshot_files
from roost.agent.preparing.snapshot_files import Laid
from roost.machine import files, locks

TOPS = ("outputs", "logs")
OWN_FOLDERS = (
    "The nodes of this run are on machines of their own: each has its own ./outputs and ./logs while the script runs. "
    "What all of them have written there is kept."
)


@dataclass(frozen=True)
class Together:
    """The folders that the nodes of one attempt share."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root.with_name(f"{self.root.name}.state")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the lock: one agent at a time. The lock of a killed agent is freed."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locks.held(self.state / "lock"):
            yield

    def read(self, name: str) -> dict[str, list[int]]:
        try:
            found = json.loads((self.state / name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def note(self, name: str, more: Mapping[str, Sequence[int]]) -> None:
        """Adds entries to the state of that name; with the lock held."""
        files.write(self.state / name, json.dumps({**self.read(name), **more}).encode())

    @property
    def laid(self) -> Laid:
        return self.read("laid.json")

    def fresh(self, files: Sequence[tuple[str, Path]]) -> list[tuple[str, Path, list[int]]]:
        """The files that no node has stored in their current version, each with that version; with the lock held."""
        kept = self.read("kept.json")
        seen = []
        for name, path in files:
            with suppress(OSError):  # a node that still runs may remove it
                seen.append((name, path, snapshot_files.signature(path)))
        return [each for each in seen if kept.get(each[0]) != each[2]]

    def leave(self, node_rank: int) -> set[int]:
        """Records that this node writes nothing any more; returns all nodes that have left. With the lock held."""
        self.note("left.json", {str(node_rank): [1]})
        return {int(rank) for rank in self.read("left.json")}


def of(folder: Folder) -> Together | None:
    """The shared folders; None for a run of one node, or when each node has its own. They remain when a script removes its
    links: the files of other nodes are still there."""
    plan = ranks.plan_of(folder)
    if plan is None or plan.spec.node_count == 1:
        return None
    there = Together(shared(folder, plan.attempt))
    return there if there.state.is_dir() else None


def is_shared(folder: Folder, top: str) -> bool:
    there = of(folder)
    return there is not None and _leads_to(folder.work / top, there.root / top)


def join(folder: Folder, attempt: int, laid: Laid) -> Together:
    """Makes this node's `./outputs` and `./logs` links. The first node moves its own, with the snapshot's files listed in
    `laid`, to the shared folder. Something that is not a folder in the snapshot stays this node's own."""
    there = Together(shared(folder, attempt))
    there.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with there.alone():
        for top in TOPS:
            own, common = folder.work / top, there.root / top
            if own.is_symlink() or not own.is_dir():
                continue
            if common.is_dir():
                shutil.rmtree(own)
            else:
                own.rename(common)
                there.note("laid.json", {name: sign for name, sign in laid.items() if name.startswith(f"{top}/")})
            own.symlink_to(common, target_is_directory=True)
    return there


@contextmanager
def once(there: Together, deed: str) -> Iterator[bool]:
    """Yields True to the first node that does something; the others wait until it is done. When it fails, the next node gets
    True."""
    with there.alone():
        first = not there.read(f"{deed}.json")
        yield first
        if first:
            there.note(f"{deed}.json", {"at": [int(time.time())]})


def remove(folder: Folder, attempt: int) -> None:
    """Deletes the folders that the run's nodes shared; called by the last node."""
    there = Together(shared(folder, attempt))
    for place in (there.root, there.state):
        shutil.rmtree(place, ignore_errors=True)


def secrets_of(folder: Folder) -> Path | None:
    """The folder with the values that must be masked in shared logs; None when nothing is shared."""
    there = of(folder)
    return there.state if there is not None else None


def _leads_to(link: Path, target: Path) -> bool:
    with suppress(OSError):
        return os.readlink(link) == str(target)
    return False
