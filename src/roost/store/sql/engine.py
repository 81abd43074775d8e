"""The connection to a database: `read` and `write` run a function in a transaction. Everything specific to SQLite is here.

SQLite allows one writer at a time, so one thread writes. Functions in its queue run one after the other, each in a savepoint, and
are committed together: a hundred callers pay for one commit. Readers never wait for it (write-ahead log). `synchronous=NORMAL`:
committed data survives a killed process; a power failure may lose the last moments, never the database.
"""

import os
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from roost.domain.errors import DiskFull, Incompatible, InvalidInput, RoostError, Unavailable
from roost.store.sql import marks

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

MEMORY = ":memory:"
_GROUP = 512  # most functions in one commit: limits how long the first of them waits
_BUSY_SECONDS = 30.0
_FREED_AT_ONCE = 2000  # pages: eight megabytes, a few milliseconds
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "temp_store=MEMORY",
    "cache_size=-16000",
    "wal_autocheckpoint=4000",
    "journal_size_limit=67108864",
)


class Database(Protocol):
    """**Threads**: any. **Work**: a function of a connection, quick, without effects besides its SQL: it may run again when
    the transaction it shared with others failed. It must not call `read` or `write` itself."""

    def read(self, work: Work[T]) -> T:
        """Runs in one snapshot."""

    def write(self, work: Work[T]) -> T:
        """Runs in one transaction; returns once it is committed, raises when it is not."""

    def size(self) -> int:
        """Bytes on disk."""

    def shrink(self) -> None:
        """Returns free pages to the file system, a few at a time, between other work."""

    def copy_to(self, path: Path) -> None:
        """Copies one moment's state to a new SQLite file."""

    def remember(self) -> None:
        """Soon records, beside the database, how much it holds: a later start with less is refused."""

    def close(self) -> None:
        """Waits for pending writes; later calls raise Unavailable."""


def insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT with ON CONFLICT, which both databases write alike but SQLAlchemy has as two classes."""
    return (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(table)


@dataclass(slots=True)
class _Job:
    work: Work[Any]
    future: "Future[Any]" = field(default_factory=Future)


class SqliteDatabase:
    """A file, or a database in memory (`MEMORY`), where readers alternate with the writer."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._engine = sa.create_engine(
            "sqlite://", creator=self._connect, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )
        self._readers: deque[sa.Connection] = deque()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        if path != MEMORY:
            marks.require_file(path)
        self._writer = self._opened()
        self._marker = marks.Marker(path, self._count_up, self._checkpoint)
        self._require_rows()
        self._thread = threading.Thread(target=self._serve, name="roost-store-writer", daemon=True)
        self._thread.start()

    def read(self, work: Work[T]) -> T:
        if self._path == MEMORY:
            return self.write(work)
        connection = self._reader()
        driver = _driver(connection)
        try:
            driver.execute("BEGIN")
            return work(connection)
        except (sa.exc.DBAPIError, sqlite3.Error, OverflowError) as error:
            raise self._translated(error) from error
        finally:
            if _rolled_back(driver):  # it only read
                self._readers.append(connection)
            else:
                _discard(connection)
            if self._closed:
                self._close_readers()

    def _reader(self) -> sa.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            self._refuse_closed()
            return self._opened()

    def write(self, work: Work[T]) -> T:
        job = _Job(work)
        with self._gate:
            self._refuse_closed()
            self._jobs.put(job)
        return cast(T, job.future.result())

    def size(self) -> int:
        if self._path == MEMORY:
            return 0
        files = (Path(self._path + ending) for ending in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def shrink(self) -> None:
        while self.write(_free_some):
            pass
        if self._path != MEMORY:
            self._apart("PRAGMA wal_checkpoint(TRUNCATE)")  # the file itself shrinks when the log is written back

    def copy_to(self, path: Path) -> None:
        if self._path == MEMORY:
            path.write_bytes(self.write(lambda connection: _driver(connection).serialize()))
        else:
            self._apart("VACUUM INTO ?", str(path))

    def remember(self) -> None:
        if self._path != MEMORY:
            self._marker.ask()

    def _require_rows(self) -> None:
        if self._path == MEMORY:
            return
        try:
            marks.require_rows(self._path, _driver(self._writer))
        except (sqlite3.Error, RoostError) as error:
            self._writer.close()
            raise self._translated(error) from None

    def _count_up(self) -> marks.Mark:
        return self.write(lambda connection: marks.count_up(_driver(connection)))

    def _checkpoint(self) -> None:
        self._apart("PRAGMA wal_checkpoint(PASSIVE)")

    def _apart(self, statement: str, *values: str) -> None:
        """Runs a statement that is not allowed in a transaction, on a separate connection; readers and the writer continue."""
        self._refuse_closed()
        try:
            connection = self._connect()
            try:
                connection.execute(statement, values).fetchall()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def close(self) -> None:
        self._marker.close()
        with self._gate:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()
        self._close_readers()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise Unavailable(
                "The store is closed.", hint="The control plane is going down; try again when it is back."
            )

    def _close_readers(self) -> None:
        while self._readers:
            self._readers.pop().close()

    def _opened(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            raise self._translated(error) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            if not connection.execute("PRAGMA page_count").fetchone()[0]:
                # Effective only before a new database has its first table; later it would wait for the writer, in vain.
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL").close()
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").close()
        except BaseException:
            connection.close()
            raise
        return connection

    # The writer's thread. It survives every error, because its callers would wait for ever.

    def _serve(self) -> None:
        while True:
            group = [self._jobs.get()]
            while len(group) < _GROUP and not self._jobs.empty():
                group.append(self._jobs.get())
            jobs = [job for job in group if job is not None]
            try:
                if len(jobs) == 1 or not self._together(jobs):
                    for job in jobs:
                        self._alone(job)
            except Exception as error:  # noqa: BLE001  any error is passed to the waiting callers
                for job in jobs:
                    if not job.future.done():
                        self._settle(job, None, error)
            if None in group:
                self._writer.close()
                return

    def _together(self, jobs: list[_Job]) -> bool:
        """Runs all jobs in one transaction. False when it failed as a whole and nothing was changed: then each job is tried
        alone."""
        driver = self._writing()
        outcomes: list[tuple[_Job, Any, Exception | None]] = []
        try:
            driver.execute("BEGIN IMMEDIATE")
            for job in jobs:
                driver.execute("SAVEPOINT job")
                try:
                    outcomes.append((job, job.work(self._writer), None))
                except Exception as error:  # noqa: BLE001  any error is passed to the caller
                    if not driver.in_transaction:
                        return False  # SQLite rolled back everything, including the others' work: a full disk does that
                    driver.execute("ROLLBACK TO job")
                    outcomes.append((job, None, error))
                driver.execute("RELEASE job")
            driver.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back(driver)
            return False
        for job, result, problem in outcomes:
            self._settle(job, result, problem)
        return True

    def _alone(self, job: _Job) -> None:
        try:
            driver = self._writing()
        except Exception as error:  # noqa: BLE001  as below
            self._settle(job, None, error)
            return
        try:
            driver.execute("BEGIN IMMEDIATE")
            result = job.work(self._writer)
            driver.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  any error is passed to the caller
            self._roll_back(driver)
            self._settle(job, None, error)
        else:
            self._settle(job, result, None)

    def _writing(self) -> sqlite3.Connection:
        """The writer's connection; a new one when the last could not even roll back."""
        if self._writer.closed:
            self._writer = self._opened()
        return _driver(self._writer)

    def _roll_back(self, driver: sqlite3.Connection) -> None:
        if not _rolled_back(driver) and self._path != MEMORY:
            _discard(self._writer)

    def _settle(self, job: _Job, result: object, problem: Exception | None) -> None:
        if problem is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(self._translated(problem))

    def _translated(self, error: Exception) -> Exception:
        """The driver's error as one with a clear message."""
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if isinstance(cause, OverflowError):  # the driver's error for a number of more than 64 bits
            return InvalidInput(f"The database {self._path} cannot keep this: {cause}.")
        if not isinstance(cause, sqlite3.Error):
            return error
        # An error of the driver itself has no code.
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and self._no_room()):
            return DiskFull(
                f"No room left on the disk of the database {self._path}.",
                hint="Free some space there and try again; nothing was changed.",
            )
        if code == sqlite3.SQLITE_NOTADB:
            return Incompatible(f"{self._path} is not a database.", hint="Move that file away, or give another folder.")
        if code == sqlite3.SQLITE_CANTOPEN:
            return Unavailable(
                f"The database {self._path} cannot be opened.", hint="Its folder must exist and be writable."
            )
        if code == sqlite3.SQLITE_BUSY:
            return Unavailable(
                f"The database {self._path} is locked by another program for more than {_BUSY_SECONDS:.0f} s.",
                hint="Close whatever else has it open.",
            )
        return RoostError(f"The database {self._path} failed: {cause}.")

    def _no_room(self) -> bool:
        return self._path != MEMORY and os.statvfs(Path(self._path).parent).f_bavail < 256


def _free_some(connection: sa.Connection) -> int:
    """Frees a number of pages; returns how many are left."""
    driver = _driver(connection)
    driver.execute(f"PRAGMA incremental_vacuum({_FREED_AT_ONCE})").fetchall()
    left: int = driver.execute("PRAGMA freelist_count").fetchone()[0]
    return left


def _rolled_back(driver: sqlite3.Connection) -> bool:
    """False when a full or broken disk refuses even the rollback: then the connection is unusable."""
    try:
        if driver.in_transaction:
            driver.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return True


def _discard(connection: sa.Connection) -> None:
    connection.invalidate()  # else closing it would try to roll back again
    connection.close()


def _driver(connection: sa.Connection) -> sqlite3.Connection:
    return cast(sqlite3.Connection, connection.connection.dbapi_connection)
