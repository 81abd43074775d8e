"""The run's own files (spools, logs of its processes) held open while its script runs: a script that deletes the run's folder, or
its spools, does not take away what it has logged and printed. A deleted file lives as long as somebody has it open.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from roost.agent.folder import Folder
from roost.domain.codec import encode
from roost.domain.plans import Access, Plan
from roost.machine import files
from roost.machine.processes import Known

MOST = 256
"""Files that are held: those of more processes than any run here has, and far below a process's limit."""
_DELETED = " (deleted)"
_PIECE = 1024 * 1024
log = logging.getLogger("roost.agent")


class Held:
    """`look` is for one thread while the script runs; the others for the one that waited for it, afterwards."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        """Descriptors by path within the run's folder."""
        self._seen: dict[str, int] = {}
        """When a folder was last changed, by its path."""

    def look(self) -> None:
        """Opens what is new. Cheap when nothing is."""
        self._take(self._folder.std_log)
        for place in (self._folder.ranks, self._folder.spool):
            for entry in self._changed(place):
                if entry.is_dir(follow_symlinks=False):
                    self._seen.setdefault(entry.path, 0)  # spools of a run below this one
                else:
                    self._take(Path(entry.path))
        for path in [path for path in self._seen if Path(path).parent == self._folder.spool]:
            for entry in self._changed(Path(path)):
                self._take(Path(entry.path))

    def adopt(self, processes: Iterable[Known]) -> None:
        """Takes over what the run's processes have open of it and was deleted before anybody here had seen it."""
        root = f"{self._folder.root}/"
        for process in processes:
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{process.pid}/fd"):
                    with contextlib.suppress(OSError):
                        path = os.readlink(entry.path).removesuffix(_DELETED)
                        if path.startswith(root) and self._is_own(name := path.removeprefix(root)):
                            self._open(name, entry.path)

    def restore(self) -> list[str]:
        """Writes again what was deleted; the names. Nothing happens to what is there."""
        restored = []
        for name, file in self._files.items():
            path = self._folder.root / name
            if not os.path.lexists(path):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                    target.writelines(_pieces(file))
                restored.append(name)
        if restored:
            log.warning("Deleted while the script ran, and written again: %s.", ", ".join(restored))
        return restored

    def remake(self, plan: Plan, access: Access) -> bool:
        """Makes the run's folder again after it was deleted; False where its home is gone too."""
        folder = self._folder
        try:
            for place in (folder.root, folder.work, folder.spool, folder.staged):
                place.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return False
        files.write(folder.plan, json.dumps({"plan": encode(plan), "access": encode(access)}).encode())
        return True

    def _changed(self, place: Path) -> list[os.DirEntry[str]]:
        """What is in a folder, when something has come or gone there."""
        try:
            changed = place.stat().st_mtime_ns
            if self._seen.get(str(place)) == changed:
                return []
            with os.scandir(place) as entries:
                found = list(entries)
        except OSError:
            return []
        self._seen[str(place)] = changed
        return found

    def _take(self, path: Path) -> None:
        name = str(path.relative_to(self._folder.root))
        if name not in self._files and self._is_own(name):
            self._open(name, str(path))

    def _is_own(self, name: str) -> bool:
        return name == self._folder.std_log.name or name.startswith(
            (f"{self._folder.spool.name}/", f"{self._folder.ranks.name}/")
        )

    def _open(self, name: str, path: str) -> None:
        if name not in self._files and len(self._files) < MOST:
            with contextlib.suppress(OSError):  # gone, or no regular file: what is written there is not the run's
                self._files[name] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _pieces(file: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(file, _PIECE, at):
        yield piece
        at += len(piece)
