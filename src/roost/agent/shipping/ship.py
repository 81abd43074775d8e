"""Sends what a run writes while it writes it: spools of metrics, the log, files under `./logs`, uploads.

`Cargo` is one round of it; `Ship` the thread that makes rounds, so that the script never waits for the network.
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
"""A whole round is made at least so often: what a look at sizes does not show is found by it."""
log = logging.getLogger("roost.agent")


class Cargo:
    """Everything that is on its way from one run's folder. For one thread at a time."""

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
        """Sends what is new. Raises RoostError when the control plane refuses something that it should take."""
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
        """Whether a round has something to send, as far as a cheap look tells."""
        return self._growth.look() != self._sent

    def is_due(self) -> bool:
        """Whether it is time for a round without a reason."""
        return time.monotonic() >= self._whole_due

    def _own_logs(self) -> Iterator[tuple[str, Path]]:
        """What is in `./logs`. Where all nodes of this machine share it, the first one streams it."""
        there = shared_folders.of(self._folder)
        if there is None or not shared_folders.is_shared(self._folder, "logs"):
            return log_files(self._folder.work / "logs")
        plan = ranks.plan_of(self._folder)
        return log_files(there.root / "logs") if plan is None or plan.node_rank == 0 else iter(())

    def _stream(self, name: str, path: Path, last: bool) -> None:
        """One file that cannot be sent does not keep the others back; it is said once."""
        if name in self._refused:
            return
        try:
            file, differs = self._masks.shown(names.path(name), path, last=last)
            self._shipper.ship_stream(names.path(name), file, again=differs)
        except FileNotFoundError:
            pass  # gone between the look and the opening
        except (InvalidInput, OSError) as error:
            self._refused.add(name)
            log.warning("%r is not streamed: %s", name, error)


def log_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Regular files under `./logs` by the name they have in the run's history. A script may have put a link in its place: one
    that leads outside the folder around it is not followed."""
    if not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(root.parent)):
        return
    for place, _, found in os.walk(root):
        for file in found:
            path = Path(place, file)
            if path.is_file() and not path.is_symlink():
                yield f"logs/{path.relative_to(root).as_posix()}", path


class Ship(threading.Thread):
    """Makes rounds until `finish`. Its first deed is to say that the script runs."""

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
        """Whether this node has no process that the run goes on for, any more; it is told with the next round."""
        self._said_serving: bool | None = None
        self._began: float | None = None
        """When the script was started, and when it ended: nobody may be there to be told then."""
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
        """There is something to send that a look does not show. Returns at once."""
        self._hurry.set()

    def flush(self, timeout: float) -> None:
        """Returns when everything written before the call is at the control plane; Unavailable after `timeout` seconds."""
        with self._turn:
            wanted = self._begun + 1  # a round that is under way may have passed what is meant
            self._hurry.set()
            if not self._turn.wait_for(lambda: self._done >= wanted, timeout):
                raise Unavailable(
                    f"What was logged has not arrived after {timeout:.0f} s.",
                    hint="It is kept on the node and sent as soon as the control plane answers.",
                )

    def finish(self, ended_at: float) -> None:
        """One last round, at once; returns when the thread has ended. Nothing happens when no script was ever started.
        `ended_at`: when the script ended, which may be long ago when nobody answered since."""
        if self.ident is None:
            return
        self._ended = ended_at
        self._stopping = True
        self._hurry.set()
        self.join()

    def _say_running(self) -> None:
        serving = self.serving
        with contextlib.suppress(Conflict):  # the run was closed meanwhile: the heartbeat brings it
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
            if str(error) != self._told:  # once, however often it is tried
                self._told = str(error)
                log.warning("Shipping stumbles: %s", error)
        return False
