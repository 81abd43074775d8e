"""On nodes that may be taken away, `./outputs` is kept while the script runs: every 30 s, what has not changed for a while.

So a run whose node vanishes without a word goes on from its last checkpoint all the same. A thread of its own: a checkpoint may
take minutes to send, and logs and metrics do not wait for it.
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
"""A file that was written to more recently may not be whole."""
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
            with contextlib.suppress(OSError):  # the folder is gone, and others say so
                self.round()

    def close(self) -> None:
        """Returns when a round that is under way has ended: what the run's end keeps is newer, and has to come after it. Nothing
        happens when it was never started."""
        self._over.set()
        if self.ident is not None:
            self.join()

    def round(self) -> int:
        """How many files were kept just now. What cannot be kept is tried again at the next round."""
        return self._round_together() or self._round()

    def _round_together(self) -> int:
        """The outputs that the nodes of this machine share: the first node keeps them for all."""
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
