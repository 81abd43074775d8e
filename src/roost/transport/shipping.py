"""Sends growing files by offset: spools of metrics, streams of text. The agent and a notebook's thread both use it.

The server accepts bytes only at its own high-water mark and always answers with that mark, so a shipper needs no state of its
own: after a crash on either side it continues at the server's mark.
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
    """How much of one file is sent."""

    mark: int = 0
    """Bytes that the server has."""
    tried: int = 0
    """The file's size at the last try; an incomplete tail is sent again only after the file has grown."""
    damaged: bool = False
    again: bool = False
    """True when the server's bytes are not the file's beginning any more: the file is then sent from its start."""


class Shipper:
    """Sends one run's files. For one thread at a time; two shippers of one run do no harm."""

    def __init__(self, client: Client, run_id: str, pace: Pace | None = None) -> None:
        """`pace` records the interval that the control plane requests."""
        self._client = client
        self._run_id = run_id
        self._pace = pace or Pace()
        self._progress: dict[str, _Progress] = {}
        self._children: dict[str, Shipper | None] = {}

    def ship_spools(self, folder: Path) -> bool:
        """Sends new data of every spool in the folder, and in its subfolders, which are named by the ids of runs below this one.
        True when there was any."""
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
        """Sends the metrics of a run below this one. If the control plane refuses them, the others are still sent."""
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
        """Sends new bytes of a text file; True when there were any. A file that became shorter or was replaced (`again`) is sent
        from its start."""
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
        """Drops the progress of a stream that was sealed."""
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
                # A frame may be larger than a chunk: the server then took nothing of it, and the whole frame is sent.
                want = MAX_BODY + FRAME.size if progress.mark == before else _CHUNK
        progress.tried = size
        return moved


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
