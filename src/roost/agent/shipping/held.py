"""Holds the run's own files (spools, logs of its processes) open while its script runs. A deleted file exists as long as a
process has it open, so a script that deletes the run's folder or spools does not lose its metrics and output.
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
"""The most files that are held: more than a run needs, and far below a process's limit of open files."""
_DELETED = " (deleted)"
_PIECE = 1024 * 1024
log = logging.getLogger("roost.agent")


class Held:
    """One thread calls `look` while the script runs; afterwards, the thread that waited for the script calls the others."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        """Descriptors by path within the run's folder."""
        self._seen: dict[str, int] = {}
        """When a folder was last changed, by its path."""

    def look(self) -> None:
        """Opens new files. Cheap when there are none."""
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
        """Opens files of the run that were deleted before `look` saw them, as far as the run's processes have them open."""
        root = f"{self._folder.root}/"
        for process in processes:
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{process.pid}/fd"):
                    with contextlib.suppress(OSError):
                        path = os.readlink(entry.path).removesuffix(_DELETED)
                        if path.startswith(root) and self._is_own(name := path.removeprefix(root)):
                            self._open(name, entry.path)

    def restore(self) -> list[str]:
        """Writes deleted files again and returns their names. Existing files stay unchanged."""
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
        """Makes the run's deleted folder again; False when its home is gone too."""
        folder = self._folder
        try:
            for place in (folder.root, folder.work, folder.spool, folder.staged):
                place.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return False
        files.write(folder.plan, json.dumps({"plan": encode(plan), "access": encode(access)}).encode())
        return True

    def _changed(self, place: Path) -> list[os.DirEntry[str]]:
        """The entries of a folder; none when no entry was added or removed since the last look."""
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
            with contextlib.suppress(OSError):  # gone, or not readable: not a file of the run
                self._files[name] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _pieces(file: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(file, _PIECE, at):
        yield piece
        at += len(piece)
