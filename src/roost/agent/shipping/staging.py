"""Uploads of the script that wait to be sent: copied into the run's folder before the script continues, sent when the control
plane takes them. Each is two files, `<number>.data` and then `<number>.json`, so that a salvage pass finds only complete ones.
"""

import itertools
import json
import logging
import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.domain import names
from roost.domain.errors import Conflict, DiskFull, Forbidden, InvalidInput, NotFound
from roost.domain.files import ALIASES, RunFile
from roost.machine import files
from roost.transport.guarded_files import opened

_AT_ONCE = 500
log = logging.getLogger("roost.agent")


class Staging:
    """`add` may be called from any thread; `send` from one at a time."""

    def __init__(self, folder: Folder) -> None:
        self._root = folder.staged
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, files: Sequence[tuple[str, Path]], run_id: str = "") -> int:
        """Copies the files; all are checked before the first copy. `run_id`: a run below this one."""
        if run_id:
            names.run_id(run_id)
        for name, path in files:
            if names.path(name) in ALIASES:
                raise InvalidInput(
                    f"{name!r} is another name of {ALIASES[names.path(name)]!r}.", hint="Upload it under its own name."
                )
            if not path.is_file():
                raise InvalidInput(f"{str(path)!r} is not a file.", hint="Give the path of a file that is there.")
            if not os.access(path, os.R_OK):
                raise InvalidInput(f"{str(path)!r} may not be read.")
        for name, path in files:
            self._add(names.path(name), path, run_id)
        return len(files)

    def _add(self, name: str, path: Path, run_id: str) -> None:
        with self._lock:
            number = f"{next(self._numbers):08d}"
        data = self._root / f"{number}.data"
        try:
            with opened([path]) as (file,):  # the script may replace it by a link meanwhile
                shutil.copyfile(file, data)
                note = {"name": name, "modified_at": file.stat().st_mtime, "run": run_id}
            files.write(self._root / f"{number}.json", json.dumps(note).encode())
        except OSError as error:
            data.unlink(missing_ok=True)
            raise DiskFull(f"{str(path)!r} cannot be copied for its upload: {error.strerror}.") from error

    def waits(self) -> bool:
        """True while uploads wait to be sent."""
        return any(self._root.glob("[0-9]*.json"))

    def send(self, link: Link) -> bool:
        """Sends the waiting uploads, oldest first; True when there were any. Of two with one name, the later one stays."""
        notes = sorted(self._root.glob("[0-9]*.json"))
        for start in range(0, len(notes), _AT_ONCE):
            some = notes[start : start + _AT_ONCE]
            carried = link.carrier.carry([note.with_suffix(".data") for note in some])
            files: dict[str, dict[str, RunFile]] = {}
            for note, (blob, size) in zip(some, carried, strict=True):
                said = json.loads(note.read_bytes())
                file = RunFile(path=said["name"], blob=blob, size=size, modified_at=said["modified_at"])
                files.setdefault(said.get("run", ""), {})[file.path] = file
            for run_id, named in files.items():
                _put(link, run_id, list(named.values()))
            for note in some:
                note.unlink()
                note.with_suffix(".data").unlink()
        return bool(notes)


def _put(link: Link, run_id: str, files: Sequence[RunFile]) -> None:
    """A refused file is dropped and logged, so that it does not block the others."""
    try:
        link.put_files(files, run_id)
    except (Forbidden, NotFound) as error:
        if not run_id:
            raise
        log.warning("%d files for run %s are not taken: %s", len(files), run_id, error.message)
    except (InvalidInput, Conflict) as error:
        if len(files) == 1:
            log.warning("%r is not taken: %s", files[0].path, error.message)
        else:
            for file in files:
                _put(link, run_id, [file])
