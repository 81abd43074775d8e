"""A run that lives in this process (`start_logging`): its spools, the thread that ships them, and its end.

Logged values are on disk at once, in ROOST_HOME/spools/<run id>. A killed process leaves that folder behind, and `salvage.py`
ships it later; a living process holds the folder's lock.
"""

import atexit
import builtins
import itertools
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from roost.domain import codec
from roost.domain.errors import NotFound
from roost.domain.runs import Reason, Run, RunStatus
from roost.machine import files, processes
from roost.machine.locks import FileLock
from roost.sdk.connection.connections import Connection, named_url
from roost.sdk.runs.interactive_outputs import Tracked
from roost.transport.client import Client, path_of
from roost.transport.pacing import Pace, Pauses
from roost.transport.shipping import SPOOL_SUFFIX, Shipper
from roost_job.exceptions import AzureMLException

HEARTBEAT = 15.0
OWNER, LOCK = "owner.json", "lock"
_count = itertools.count()


def spools_of(home: Path) -> Path:
    return home / "spools"


def report(
    client: Client, run_id: str, to: RunStatus, reason: Reason, message: str = "", at: float | None = None
) -> Run:
    """Reports the run's status to the control plane, as of now or `at` that time of this machine; returns the updated run.
    Safe to call twice."""
    said = {"to": to.value, "reason": reason.value, "message": message, "at": time.time() if at is None else at}
    return codec.decode(Run, client.call("POST", path_of("runs", run_id, "events"), json=said, clocked=True))


class Session:
    """Ships the values that this process logs to a run, in a separate thread. Any thread may flush or finish; a forked child
    does neither. `owns`: the run is this process, and ends with it; otherwise points are only added to another process's run."""

    def __init__(
        self, connection: Connection, run_id: str, *, owns: bool = True, tracked: Tracked | None = None
    ) -> None:
        self.owns = owns
        self.tracked = tracked
        """The folder of outputs that is stored at the end."""
        self._connection = connection
        self._run_id = run_id
        self._pid = os.getpid()
        self._stop = threading.Event()
        self._shipping = threading.Lock()
        self._ended = False
        self._guests: list[Callable[[], None]] = []
        self._sent: dict[str, int] = {}
        name = run_id if owns else f"{run_id}.{self._pid}.{next(_count)}"
        self.folder = spools_of(connection.home) / name
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._held = FileLock(self.folder / LOCK)
        self._held.acquire()
        self._write_owner()
        if tracked is not None:
            tracked.note(self.folder)
        self._pace = Pace()
        self._shipper = Shipper(connection.background, run_id, self._pace)
        self._thread = threading.Thread(target=self._ship_along, name=f"roost-ship-{run_id}", daemon=True)
        self._thread.start()
        atexit.register(self._at_exit)

    def _write_owner(self) -> None:
        pid = os.getpid()
        owner = {
            "pid": pid,
            "pid_started": processes.started(pid),
            "url": named_url(),
            "run_id": self._run_id,
            "owns": self.owns,
        }
        files.write(self.folder / OWNER, json.dumps(owner))

    def flush(self) -> None:
        """Returns when everything logged before is at the control plane; raises when it cannot be reached."""
        if os.getpid() == self._pid and not self._ended:
            with self._shipping:
                if self._sizes() != self._sent:
                    self._connection.client.call("GET", "/api/health")  # restarts it, if it was shut down meanwhile
                self._ship()

    def _ship(self) -> bool:
        """Sends new data; True when there was any. Without new data, no request is made. Call it with the lock held."""
        sizes = self._sizes()
        if sizes == self._sent:
            return False
        self._shipper.ship_spools(self.folder)
        self._sent = sizes
        return True

    @property
    def ended(self) -> bool:
        return self._ended

    def host(self, let_go: Callable[[], None]) -> None:
        """Lets a child run log here too, in a folder named by its id. `let_go` is called before the folder is removed."""
        self._guests.append(let_go)

    def _sizes(self, folder: Path | None = None) -> dict[str, int]:
        found: dict[str, int] = {}
        with os.scandir(folder or self.folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    found.update(self._sizes(Path(entry.path)))
                elif entry.name.endswith(SPOOL_SUFFIX):
                    found[entry.path] = entry.stat().st_size
        return found

    def finish(self, to: RunStatus, reason: Reason, message: str = "") -> None:
        """Ships the rest, stores the outputs, reports the end, and releases the folder. A second call changes nothing."""
        if os.getpid() != self._pid or self._ended:
            return
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for let_go in self._guests:
            let_go()
        self.flush()
        if self.tracked is not None:
            self.tracked.keep(self._connection, self._run_id)
        if self.owns:
            report(self._connection.client, self._run_id, to, reason, message)
        self._ended = True
        atexit.unregister(self._at_exit)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._held.release()

    def _ship_along(self) -> None:
        """While the run lives: sends new data and periodic signs of life. No error here may end the process."""
        said = signed = time.monotonic()
        pauses = Pauses(self._pace)
        sent = False
        while not self._stop.wait(pauses.after(sent=sent)):
            sent = False
            if time.monotonic() - signed > HEARTBEAT:
                signed = time.monotonic()
                with suppress(OSError):
                    os.utime(self.folder / OWNER)  # for salvage: files written later than this do not belong to the run
            with suppress(
                AzureMLException, OSError
            ):  # unreachable for now: all data is on disk, and the next round retries
                with self._shipping:
                    sent = self._ship()
                if self.owns and time.monotonic() - said > HEARTBEAT:
                    said = time.monotonic()
                    self._connection.background.call("POST", path_of("runs", self._run_id, "heartbeat"))

    def _at_exit(self) -> None:
        """At the end of the process: a run without a reported end gets the status of the process."""
        failed = getattr(sys, "last_value", None) if not hasattr(builtins, "__IPYTHON__") else None
        try:
            if failed is None:
                self.finish(RunStatus.COMPLETED, Reason.DONE, "The process ended without run.complete().")
            else:
                self.finish(RunStatus.FAILED, Reason.MARKED_FAILED, f"{type(failed).__name__}: {failed}")
        except NotFound:
            return
        except Exception as error:  # noqa: BLE001 - the interpreter is ending: only report where the points are
            print(
                f"Roost: run {self._run_id} could not be ended ({error}); its points are kept in {self.folder}.",
                file=sys.stderr,
            )
