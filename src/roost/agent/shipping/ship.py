"""Sends a run's data while the run writes it: spools of metrics, the log, files under `./logs`, uploads.

`Cargo.round` sends everything new once; `Ship` is the thread that makes rounds, so that the script never waits for the network.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.launching import ranks
from roost.agent.link import Link
from roost.agent.orders import Halt, Orders
from roost.agent.preparing import snapshot_files
from roost.agent.shipping import shared_folders
from roost.agent.shipping.growth import Growth, Seen
from roost.agent.shipping.held import Held
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.staging import Staging
from roost.domain import names
from roost.domain.errors import Conflict, InvalidInput, NotFound, RoostError, Unavailable
from roost.domain.runs import Reason, RunStatus
from roost.transport.pacing import LEAST_SECONDS, Pace, Pauses
from roost.transport.shipping import Shipper

_AFTER_ERROR = 2.0
_WHOLE_SECONDS = 30.0
"""The longest time between complete rounds: they find changes that do not show in file sizes."""
log = logging.getLogger("roost.agent")


class Cargo:
    """All data to send from one run's folder. For one thread at a time."""

    def __init__(self, folder: Folder, link: Link, staging: Staging, masks: Masks) -> None:
        self._folder = folder
        self._masks = masks
        self._link = link
        self._staging = staging
        self.pace = Pace()
        self._shipper = Shipper(link.client, link.run_id, self.pace)
        self._growth = Growth(folder, self._own_logs)
        self._sent: Seen | None = None
        self._whole_due = 0.0
        self._refused: set[str] = set()

    @cached_property
    def _laid(self) -> snapshot_files.Laid:
        there = shared_folders.of(self._folder)
        return {**snapshot_files.load(self._folder), **(there.laid if there else {})}

    def round(self, *, last: bool = False) -> None:
        """Sends all new data. Raises RoostError when the control plane refuses something that it should take."""
        whole, seen = last or self.is_due(), self._growth.look()
        for name, path in ranks.logs(self._folder):
            self._stream(name, path, last)
        self._shipper.ship_spools(self._folder.spool)
        if whole or self._sent is None or self._sent.logs != seen.logs:
            for name, path in self._own_logs():
                if not snapshot_files.is_stale(self._laid, name, path):
                    self._stream(name, path, last)
        self._staging.send(self._link)
        self._sent = seen
        if whole:
            self._whole_due = time.monotonic() + _WHOLE_SECONDS

    def has_news(self) -> bool:
        """True when a cheap check of sizes finds something to send."""
        return self._growth.look() != self._sent

    def is_due(self) -> bool:
        """True when the next complete round is due, even without a known change."""
        return time.monotonic() >= self._whole_due

    def _own_logs(self) -> Iterator[tuple[str, Path]]:
        """The files in `./logs`. When the nodes of this machine share it, only the first node streams it."""
        there = shared_folders.of(self._folder)
        if there is None or not shared_folders.is_shared(self._folder, "logs"):
            return log_files(self._folder.work / "logs")
        plan = ranks.plan_of(self._folder)
        return log_files(there.root / "logs") if plan is None or plan.node_rank == 0 else iter(())

    def _stream(self, name: str, path: Path, last: bool) -> None:
        """Sends one file. A file that cannot be sent does not block the others; this is logged once."""
        if name in self._refused:
            return
        try:
            file, differs = self._masks.shown(names.path(name), path, last=last)
            self._shipper.ship_stream(names.path(name), file, again=differs)
        except FileNotFoundError:
            pass  # deleted before it could be opened
        except (InvalidInput, OSError) as error:
            self._refused.add(name)
            log.warning("%r is not streamed: %s", name, error)


def log_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Regular files under `./logs` by their names in the run's history. A script may replace `./logs` by a link: one that leads
    outside the parent folder is not followed."""
    if not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(root.parent)):
        return
    for place, _, found in os.walk(root):
        for file in found:
            path = Path(place, file)
            if path.is_file() and not path.is_symlink():
                yield f"logs/{path.relative_to(root).as_posix()}", path


class Ship(threading.Thread):
    """Makes rounds until `finish`. First it reports that the script runs."""

    def __init__(self, folder: Folder, link: Link, cargo: Cargo, orders: Orders, held: Held | None = None) -> None:
        super().__init__(name="ship", daemon=True)
        self._hold = held.look if held else lambda: None
        self._folder = folder
        self._link = link
        self._cargo = cargo
        self._orders = orders
        self._hurry = threading.Event()
        self._stopping = False
        self._turn = threading.Condition()
        self._begun = self._done = 0
        self._told = ""
        self.serving = False
        """True once every process the run waits for has ended on this node; reported with the next round."""
        self._said_serving: bool | None = None
        self._began: float | None = None
        """When the script started; `_ended`: when it ended. Both are reported later if the control plane is away."""
        self._ended: float | None = None

    def start(self) -> None:
        self._began = time.time()
        self._hold()
        super().start()

    def run(self) -> None:
        self._try(self._say_running)
        pauses, pause, went_well = Pauses(self._cargo.pace), LEAST_SECONDS, True
        while True:
            hurried = self._hurry.wait(pause)
            self._hurry.clear()
            stopping = self._stopping
            self._hold()
            if self._folder.is_gone:
                self._orders.halt(Halt.FOLDER_GONE)
                return
            with self._turn:
                self._begun += 1
            if self._said_serving is not self.serving and not stopping:
                self._try(self._say_running)
            if stopping:
                self._try(lambda: self._link.say(RunStatus.FINALIZING, Reason.SCRIPT_ENDED, at=self._ended))
            fresh = stopping or self._cargo.has_news()
            if fresh or hurried or not went_well or self._cargo.is_due():
                went_well = self._try(partial(self._cargo.round, last=stopping))
            with self._turn:
                self._done = self._begun if went_well else self._done
                self._turn.notify_all()
            if stopping:
                return
            pause = pauses.after(sent=fresh) if went_well else _AFTER_ERROR

    def hurry(self) -> None:
        """Requests a round at once, for data that `has_news` does not see. Does not wait for it."""
        self._hurry.set()

    def flush(self, timeout: float) -> None:
        """Returns when everything written before the call is at the control plane; Unavailable after `timeout` seconds."""
        with self._turn:
            wanted = self._begun + 1  # a round that is under way may have missed the latest data
            self._hurry.set()
            if not self._turn.wait_for(lambda: self._done >= wanted, timeout):
                raise Unavailable(
                    f"What was logged has not arrived after {timeout:.0f} s.",
                    hint="It is kept on the node and sent as soon as the control plane answers.",
                )

    def finish(self, ended_at: float) -> None:
        """Makes one last round at once; returns when the thread has ended. Does nothing when no script was started. `ended_at`:
        when the script ended; that may be long ago if the control plane was away."""
        if self.ident is None:
            return
        self._ended = ended_at
        self._stopping = True
        self._hurry.set()
        self.join()

    def _say_running(self) -> None:
        serving = self.serving
        with contextlib.suppress(Conflict):  # the run was closed meanwhile: the heartbeat reports it
            said = self._link.say(RunStatus.RUNNING, Reason.SCRIPT_STARTED, serving=serving, at=self._began)
            self._orders.heard(said)
        self._said_serving = serving

    def _try(self, deed: Callable[[], object]) -> bool:
        try:
            deed()
            self._told = ""
            return True
        except NotFound:
            self._orders.halt(Halt.DISOWNED)
        except (RoostError, OSError) as error:
            if str(error) != self._told:  # log each error once, not at each try
                self._told = str(error)
                log.warning("Shipping stumbles: %s", error)
        return False
