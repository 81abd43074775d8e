"""Requests to flush: the agent ships everything its run has written so far. A reader of the log makes one, the agent's heartbeat
carries it, the next heartbeat answers it. They live in this process; the reader gives up one that is not answered.
"""

import secrets
import threading


class Flushes:
    """Safe from any thread. The caller of `ask` or `answered` notifies the run's topic."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, list[str]] = {}
        """Marks by run, in the order of the requests."""

    def ask(self, run_id: str) -> str:
        """Makes a request; returns its mark."""
        mark = secrets.token_hex(8)
        with self._lock:
            self._open.setdefault(run_id, []).append(mark)
        return mark

    def wanted(self, run_id: str) -> str:
        """The mark of the last open request: its answer answers the earlier ones too. Empty for none."""
        with self._lock:
            return self._open.get(run_id, [""])[-1]

    def answered(self, run_id: str, mark: str) -> None:
        """Everything that was written before this request has arrived."""
        with self._lock:
            marks = self._open.get(run_id, [])
            if mark in marks:
                self._keep(run_id, marks[marks.index(mark) + 1 :])

    def is_open(self, run_id: str, mark: str) -> bool:
        with self._lock:
            return mark in self._open.get(run_id, [])

    def drop(self, run_id: str, mark: str) -> None:
        """The reader does not wait any more. Safe twice."""
        with self._lock:
            self._keep(run_id, [each for each in self._open.get(run_id, []) if each != mark])

    def _keep(self, run_id: str, marks: list[str]) -> None:
        if marks:
            self._open[run_id] = marks
        else:
            self._open.pop(run_id, None)
