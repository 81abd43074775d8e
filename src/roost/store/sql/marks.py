"""Records how much a database held, in a small file beside it. A database that holds less is not opened silently: its write-ahead
log or the file itself was lost, or an older copy replaced it.

Each mark increments `user_version` in the database, flushes that to the disk and only then writes the file: the database is never
behind the file unless data was lost, even after a power failure.
"""

import contextlib
import json
import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from roost.domain.codec import decode
from roost.domain.errors import Conflict, InvalidInput, RoostError

ENDING = ".mark"
_EVERY_SECONDS = 1.0
"""Least seconds between two marks, because each waits for the disk once."""
_CHECKPOINT_SECONDS = 60.0
_LAST_SECONDS = 5.0
log = logging.getLogger("roost.store")


@dataclass(frozen=True, kw_only=True)
class Mark:
    identity: int
    """`application_id` of the database, chosen at random at its first mark."""
    generation: int
    """The number of its marks."""
    runs: int
    at: float


def place(database: str) -> Path:
    return Path(database + ENDING)


def read(database: str) -> Mark | None:
    """The last mark; None when it is missing or invalid."""
    try:
        return decode(Mark, json.loads(place(database).read_bytes()))
    except (OSError, ValueError, InvalidInput):
        return None


def require_file(database: str) -> None:
    """Raises Conflict when a database was marked and its file is gone. Call it before opening, which would create a new one."""
    mark = read(database)
    if mark is not None and not Path(database).exists():
        raise _lost(database, mark, f"The database {database} is gone")


def require_rows(database: str, driver: sqlite3.Connection) -> None:
    """Raises Conflict when the database is older than its last mark, or another one."""
    mark = read(database)
    if mark is None:
        return
    identity, generation = _read(driver, "application_id"), _read(driver, "user_version")
    if identity == mark.identity and generation >= mark.generation:
        return
    if not generation:
        words = f"The database {database} has lost everything that it held"
    elif identity != mark.identity:
        words = f"The database {database} is not the one that was here before"
    else:
        runs = driver.execute("SELECT count(*) FROM runs").fetchone()[0]
        words = f"The database {database} is older than it was, and holds {_runs(runs)} now"
    raise _lost(database, mark, words)


def _lost(database: str, mark: Mark, words: str) -> Conflict:
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(mark.at))
    name = Path(database).name
    return Conflict(
        f"{words}: it held {_runs(mark.runs)} on {day}. Nothing was changed.",
        hint=f"Put {name} and {name}-wal back, which belong together, or restore a back-up: "
        "roost restore FILE --into NEW_FOLDER. "
        f"To go on with what is there: rm {place(database)}",
    )


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _read(driver: sqlite3.Connection, pragma: str) -> int:
    value: int = driver.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value


def count_up(driver: sqlite3.Connection) -> Mark:
    """The next mark, written to the database."""
    identity = _read(driver, "application_id")
    if not identity:
        identity = random.randint(1, 2**31 - 1)  # noqa: S311 - an identifier, not a secret
        driver.execute(f"PRAGMA application_id={identity}")
    generation = _read(driver, "user_version") + 1
    driver.execute(f"PRAGMA user_version={generation}")
    runs: int = driver.execute("SELECT count(*) FROM runs").fetchone()[0]
    return Mark(identity=identity, generation=generation, runs=runs, at=time.time())


class Marker:
    """Marks a database soon after each request, in a separate thread."""

    def __init__(self, database: str, count_up: Callable[[], Mark], checkpoint: Callable[[], None]) -> None:
        self._database = database
        self._count_up = count_up
        self._checkpoint = checkpoint
        self._checkpointed = -_CHECKPOINT_SECONDS
        self._pending = False
        self._wanted, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="roost-store-marker", daemon=True)
        self._begun = threading.Lock()

    def ask(self) -> None:
        """Requests a mark; from any thread, any number of times."""
        self._pending = True
        self._wanted.set()
        if not self._thread.is_alive() and not self._closing.is_set() and self._begun.acquire(blocking=False):
            self._thread.start()

    def close(self) -> None:
        """Writes a requested mark that is still pending."""
        self._closing.set()
        self._wanted.set()
        if self._begun.locked():
            self._thread.join(_LAST_SECONDS)

    def _run(self) -> None:
        while self._pending or not self._closing.is_set():
            if not self._closing.is_set():
                self._wanted.wait()
            self._wanted.clear()
            if self._pending:
                self._pending = False
                self._try()
            self._closing.wait(_EVERY_SECONDS)

    def _try(self) -> None:
        try:
            self._mark()
        except (RoostError, OSError) as error:
            log.warning("the database is not marked: %s", error)  # the next mark includes this one

    def _mark(self) -> None:
        mark = self._count_up()
        self._to_disk()
        part = place(self._database).with_name(f".{place(self._database).name}.part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(json.dumps(asdict(mark)))
        part.replace(place(self._database))
        if time.monotonic() - self._checkpointed > _CHECKPOINT_SECONDS:
            self._checkpoint()  # early, so that a lost log loses little
            self._checkpointed = time.monotonic()

    def _to_disk(self) -> None:
        """Opens only the write-ahead log: closing the database's own file would drop SQLite's locks on it."""
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(f"{self._database}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
