"""Receives the control plane's orders while the script runs: a heartbeat request waits there, so a cancel arrives at once.

Every reason to stop early is set here (`halt`), and wakes the thread that waits for the script.
"""

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable
from enum import StrEnum

from roost.agent.link import Link
from roost.domain.codec import decode
from roost.domain.errors import NotFound, RoostError, Unauthorized, Unavailable
from roost.domain.runs import Run, RunStatus

_WAIT_SECONDS = 25
_PAUSE = 2.0
_FIRST_WORD_SECONDS = 0.3
_FLUSH_SECONDS = 1.5
"""How long a flush for a reader may delay the heartbeat."""
log = logging.getLogger("roost.agent")


class Halt(StrEnum):
    """Why a script is ended early."""

    CANCELED = "canceled"
    """A cancel was requested."""
    TERMINATED = "terminated"
    """This process got SIGTERM: the engine stops it, or the machine goes down."""
    NODE_FAILED = "node_failed"
    """Another node of the run has failed."""
    NODES_DONE = "nodes_done"
    """No process the run waits for is left on this node, and the other nodes are done."""
    PREEMPTED = "preempted"
    """A node of the run is taken away: the run starts again on others."""
    OVER = "over"
    """The control plane has closed the run already."""
    DISOWNED = "disowned"
    """The control plane does not know the run, and will never take its results."""
    FOLDER_GONE = "folder_gone"
    """The run's folder was deleted."""


class NotWanted(RoostError):
    """The run was halted while it was being prepared."""


class Orders:
    """`halted` and `wake` are for the thread that waits for the script; any thread may call the methods."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._halt: Halt | None = None
        self._terminated = False
        self._revision = 0
        self._first_word = threading.Event()
        self._over = threading.Event()
        self.wake, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """Readable once there is a halt."""
        self.flush: Callable[[float], None] = lambda _: None
        """Ships everything the run has written so far; Unavailable when that takes longer than the given seconds."""

    @property
    def halted(self) -> Halt | None:
        return self._halt or (Halt.TERMINATED if self._terminated else None)

    def check(self) -> None:
        """Raises NotWanted when there is a halt; called during long work."""
        if self.halted:
            raise NotWanted(f"The run was ended ({self.halted}) while it was being prepared.")

    def halt(self, why: Halt) -> None:
        """Sets the reason to stop; the first one counts."""
        with self._lock:
            if self._halt is None:
                self._halt = why
                log.info("To be ended: %s.", why.value)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_writer, b"!")

    def listen(self) -> None:
        """Starts to receive SIGTERM and the control plane's orders. Call it from the main thread."""
        # The byte that Python writes for a signal wakes the waiting thread, which then runs the handler. The handler takes no
        # lock and writes no log, since it may interrupt either, and come twice.
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._terminate)
        self.attend()

    def attend(self) -> None:
        """Starts only the heartbeats: they receive orders, and show the control plane that this agent lives."""
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def _terminate(self, *_: object) -> None:
        self._terminated = True

    def close(self) -> None:
        self._over.set()

    def heard(self, run: Run) -> None:
        """Takes the run's current state from the control plane, and halts if it requires that."""
        self._revision = max(self._revision, run.revision)
        if run.status is RunStatus.CANCEL_REQUESTED:
            self.halt(Halt.CANCELED)
        elif self._link.attempt and run.attempt != self._link.attempt:
            self.halt(Halt.OVER)
        elif run.ending and not run.status.is_terminal:
            self.halt(Halt(run.ending.value))
        elif run.status.is_terminal and not self._over.is_set():
            self.halt(Halt.OVER)
        self._first_word.set()

    def _listen(self) -> None:
        # The answer to the event "running" has the revision and saves a request; a long preparation must not delay the heartbeat.
        self._first_word.wait(_FIRST_WORD_SECONDS)
        told = flushed = ""
        while not self._over.is_set():
            try:
                params = {"after": self._revision, "wait": _WAIT_SECONDS, "attempt": self._link.attempt or None}
                answer = self._link.client.call(
                    "POST", self._link.own_path("heartbeat"), params={**params, "flushed": flushed}
                )
                self.heard(decode(Run, answer))
                self._link.is_known()
                flushed = ""
                if wish := answer.get("flush"):
                    with contextlib.suppress(Unavailable):  # the reader then gets older data
                        self.flush(_FLUSH_SECONDS)
                        flushed = str(wish)
            except NotFound:
                self.halt(Halt.DISOWNED)
                return
            except RoostError as error:
                if error.message != told:
                    told = error.message
                    log.warning("The heartbeat is refused: %s", told)
                if isinstance(error, Unauthorized) and self._link.is_forgotten():
                    self.halt(Halt.DISOWNED)
                    return
                self._over.wait(_PAUSE)
