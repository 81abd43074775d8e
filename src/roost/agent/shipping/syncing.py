"""On nodes that can be preempted, stores `./outputs` while the script runs: every 30 s, the files that have stopped changing.

So a run whose node vanishes without warning can continue from its last checkpoint. It is a separate thread, since a checkpoint
may take minutes to send and must not delay logs and metrics.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from roost.agent.finishing.kept_files import find, made_together, put_together
from roost.agent.folder import Folder
from roost.agent.launching import ranks
from roost.agent.link import Link
from roost.agent.shipping import shared_folders
from roost.domain.errors import RoostError
from roost.domain.files import RunFile

EVERY_SECONDS = 30.0
STABLE_SECONDS = 5.0
"""A file that changed more recently may be incomplete."""
log = logging.getLogger("roost.agent")


class Syncing(threading.Thread):
    """Makes rounds from `start` to `close`."""

    def __init__(
        self, folder: Folder, link: Link, clock: Callable[[], float] = time.time, every: float = EVERY_SECONDS
    ) -> None:
        super().__init__(name="syncing", daemon=True)
        self._over = threading.Event()
        self._every = every
        self._folder = folder
        self._link = link
        self._clock = clock
        self._kept: dict[str, tuple[int, int, int]] = {}

    def run(self) -> None:
        while not self._over.wait(self._every):
            with contextlib.suppress(OSError):  # the folder is gone; `ship` reports that
                self.round()

    def close(self) -> None:
        """Returns when the current round has ended: the files stored at the run's end are newer and must come later. Does nothing
        when the thread was never started."""
        self._over.set()
        if self.ident is not None:
            self.join()

    def round(self) -> int:
        """Stores the files and returns their number. A file that cannot be stored is tried again in the next round."""
        return self._round_together() or self._round()

    def _round_together(self) -> int:
        """Stores the outputs that the nodes of this machine share; the first node does so for all."""
        there, plan = shared_folders.of(self._folder), ranks.plan_of(self._folder)
        if there is None or plan is None or plan.node_rank:
            return 0
        with there.alone():
            found = made_together(self._folder, there, ("outputs",))
            found.files = [each for each in found.files if self._is_stable(each[1])]
            try:
                return put_together(there, self._link, found, self._carry)
            except (RoostError, OSError) as error:
                log.warning("Outputs are not kept yet: %s", error)
                return 0

    def _is_stable(self, path: Path) -> bool:
        try:
            return self._clock() - os.stat(path).st_mtime >= STABLE_SECONDS
        except OSError:
            return False

    def _carry(self, files: Sequence[tuple[str, Path]], _: list[str]) -> Iterator[RunFile]:
        carried = self._link.carrier.carry([path for _, path in files])
        for (name, path), (blob, size) in zip(files, carried, strict=True):
            yield RunFile(path=name, blob=blob, size=size, modified_at=path.stat().st_mtime)

    def _round(self) -> int:
        stable = []
        for name, path in find(self._folder).files:
            if not name.startswith("outputs/"):
                continue
            try:
                found = os.stat(path)
            except OSError:
                continue
            signature = (found.st_ino, found.st_size, found.st_mtime_ns)
            if self._kept.get(name) != signature and self._clock() - found.st_mtime >= STABLE_SECONDS:
                stable.append((name, path, signature, found.st_mtime))
        if not stable:
            return 0
        try:
            carried = self._link.carrier.carry([path for _, path, _, _ in stable])
            self._link.put_files(
                [
                    RunFile(path=name, blob=blob, size=size, modified_at=modified)
                    for (name, _, _, modified), (blob, size) in zip(stable, carried, strict=True)
                ]
            )
        except (RoostError, OSError) as error:
            log.warning("Outputs are not kept yet: %s", error)
            return 0
        self._kept.update((name, signature) for name, _, signature, _ in stable)
        log.info("%d files of ./outputs were kept while it runs.", len(stable))
        return len(stable)
