"""Sends what grows on disk, by offset: spools of metrics, streams of text. The agent and a notebook's thread both use it.

The server takes bytes in only at its own high-water mark and always answers with that mark, so a shipper needs no
memory of its own: after any crash on either side it goes on where the server says.
"""

import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import Forbidden, InvalidInput, NotFound
from roost.transport.client import Client, Params, path_of
from roost.transport.pacing import Pace
from roost_job.tracking.records import FRAME, MAX_BODY

log = logging.getLogger("roost.agent")
SPOOL_SUFFIX = ".spool"
_CHUNK = 2 * 1024 * 1024


@dataclass
class _Progress:
    """How far one file has come."""

    mark: int = 0
    """What the server has."""
    tried: int = 0
    """The file's size at the last try; a tail that is not whole yet is sent again only when there is more."""
    damaged: bool = False
    again: bool = False
    """What the server has is not the file's beginning any more: it is to be sent from its start."""


class Shipper:
    """One run's files on their way. Not for two threads at once; two shippers of one run harm nothing."""

    def __init__(self, client: Client, run_id: str, pace: Pace | None = None) -> None:
        """`pace` notes how often the control plane wants to be sent to."""
        self._client = client
        self._run_id = run_id
        self._pace = pace or Pace()
        self._progress: dict[str, _Progress] = {}
        self._children: dict[str, Shipper | None] = {}

    def ship_spools(self, folder: Path) -> bool:
        """Sends what is new in every spool of the folder, and in the folders of the runs below it, which are named by their ids;
        whether anything was."""
        moved = False
        try:
            with os.scandir(folder) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except FileNotFoundError:
            return False
        for name, is_folder in found:
            if is_folder:
                moved |= self._ship_child(folder / name, name)
            elif name.endswith(SPOOL_SUFFIX):
                moved |= self._ship_spool(folder / name, name.removesuffix(SPOOL_SUFFIX))
        return moved

    def _ship_child(self, folder: Path, run_id: str) -> bool:
        """What was logged to a run below this one. One that is not taken keeps nothing else back."""
        child = self._children.setdefault(run_id, Shipper(self._client, run_id, self._pace))
        if child is None:
            return False
        try:
            return child.ship_spools(folder)
        except (Forbidden, NotFound, InvalidInput) as error:
            log.warning("What was logged to run %s is not taken: %s", run_id, error.message)
            self._children[run_id] = None
            return False

    def ship_stream(self, name: str, path: Path, *, again: bool = False) -> bool:
        """Sends what is new in a text file; whether anything was. A file that became shorter is sent from its start, and so
        is one that has become another (`again`)."""
        progress = self._progress.setdefault(f"stream/{name}", _Progress())
        size = _size(path)
        progress.again |= again or size < progress.mark
        if size == progress.mark and not progress.again:
            return False
        route = path_of("runs", self._run_id, "streams", name)
        with path.open("rb") as file:
            while True:
                mark = 0 if progress.again else progress.mark
                file.seek(mark)
                data = file.read(_CHUNK)
                if not data and not progress.again:
                    return True
                answer = self._send(route, {"offset": mark, "reset": int(progress.again)}, data)
                progress.mark, progress.again = int(answer["offset"]), False

    def _send(self, route: str, params: Params, data: bytes) -> dict[str, Any]:
        begun = time.monotonic()
        answer: dict[str, Any] = self._client.call("POST", route, params=params, body=data)
        self._pace.note(answer.get("pace"), time.monotonic() - begun)
        return answer

    def forget(self, name: str) -> None:
        """A stream that was sealed: nothing of it is sent again."""
        self._progress.pop(f"stream/{name}", None)

    def _ship_spool(self, path: Path, spool: str) -> bool:
        progress = self._progress.setdefault(f"spool/{spool}", _Progress())
        size = _size(path)
        if progress.damaged or size <= max(progress.mark, progress.tried):
            return False
        route = path_of("runs", self._run_id, "spools", spool)
        moved = False
        with path.open("rb") as file:
            want = _CHUNK
            while progress.mark < size:
                file.seek(progress.mark)
                data = file.read(want)
                answer = self._send(route, {"offset": progress.mark}, data)
                before, progress.mark = progress.mark, int(answer["offset"])
                progress.damaged = bool(answer["damaged"])
                moved |= progress.mark != before
                if progress.damaged or (progress.mark == before and before + len(data) >= size):
                    break
                # A frame may be larger than a chunk: then nothing of it was taken in, and all of it is sent.
                want = MAX_BODY + FRAME.size if progress.mark == before else _CHUNK
        progress.tried = size
        return moved


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
