"""The connection to PostgreSQL, for teams: the same statements as on SQLite. Everything specific to PostgreSQL is here.

Every transaction is serializable, and a conflicting one is repeated, so that all guarantees of SQLite's single writer hold here
too. One control plane writes one transaction at a time, so its own threads never conflict.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg import errors

from roost.domain.errors import DiskFull, InvalidInput, RoostError, Unavailable
from roost.store.sql import tables as t
from roost.store.sql.engine import SqliteDatabase, Work
from roost.store.sql.schema import prepare

T = TypeVar("T")

_MET_ANOTHER = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,  # both looked and found nothing, then both inserted
    errors.DuplicateTable,
)
_TRIES = 20
_PAUSE, _LONGEST_PAUSE = 0.005, 0.2
_CONNECT_SECONDS = 10
_ROWS_AT_ONCE = 1000


class PostgresDatabase:
    """Implements `engine.Database`."""

    def __init__(self, url: str) -> None:
        try:
            parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidInput(
                f"{url.partition('@')[0][:20]!r}… is not the address of a PostgreSQL database.",
                hint="It looks like postgresql://user:password@host:5432/database.",
            ) from None
        self._shown = parsed.set(drivername="postgresql").render_as_string(hide_password=True)
        engine = sa.create_engine(
            parsed,
            pool_size=8,
            max_overflow=32,
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_SECONDS},
        )
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._writing = engine.execution_options(isolation_level="SERIALIZABLE")
        self._turn = threading.Lock()
        self._closed = False

    def read(self, work: Work[T]) -> T:
        return self._try(self._reading, work)

    def write(self, work: Work[T]) -> T:
        pause = _PAUSE
        with self._turn:
            for _ in range(_TRIES):
                try:
                    return self._once(self._writing, work)
                except Exception as error:
                    if not isinstance(_cause(error), _MET_ANOTHER):
                        raise self._translated(error) from error
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return self._try(self._writing, work)

    def size(self) -> int:
        return self.read(
            lambda connection: int(connection.scalar(sa.text("SELECT pg_database_size(current_database())")))
        )

    def shrink(self) -> None:
        """Does nothing: PostgreSQL's own vacuum frees deleted rows in the background."""

    def copy_to(self, path: Path) -> None:
        target = SqliteDatabase(str(path))
        try:
            prepare(target, str(path))
            self.read(lambda connection: _copy(connection, target))
        finally:
            target.close()

    def remember(self) -> None:
        """Does nothing: PostgreSQL and its back-ups are responsible for its data."""

    def close(self) -> None:
        with self._turn:
            self._closed = True
        self._engine.dispose()

    def _try(self, engine: sa.Engine, work: Work[T]) -> T:
        try:
            return self._once(engine, work)
        except Exception as error:
            raise self._translated(error) from error

    def _once(self, engine: sa.Engine, work: Work[T]) -> T:
        if self._closed:
            raise Unavailable(
                "The store is closed.", hint="The control plane is going down; try again when it is back."
            )
        with engine.connect() as connection, connection.begin():
            return work(connection)

    def _translated(self, error: Exception) -> Exception:
        """The driver's error as one with a clear message."""
        cause = _cause(error)
        if not isinstance(cause, psycopg.Error):
            return error
        words = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
        if isinstance(cause, errors.DiskFull):
            return DiskFull(
                f"No room left for the database {self._shown}.",
                hint="Free some space there and try again; nothing was changed.",
            )
        if isinstance(cause, psycopg.OperationalError):
            return Unavailable(
                f"The database {self._shown} cannot be reached: {words}.",
                hint="Is it running, and is its address right?",
            )
        if isinstance(cause, psycopg.DataError):
            return InvalidInput(f"The database {self._shown} cannot keep this: {words}.")
        return RoostError(f"The database {self._shown} failed: {words}.")


def _cause(error: Exception) -> BaseException | None:
    return error.orig if isinstance(error, sa.exc.DBAPIError) else error


def _copy(connection: sa.Connection, target: SqliteDatabase) -> None:
    for table in t.metadata.sorted_tables:
        for rows in _stretches(connection, table):
            target.write(lambda writer, table=table, rows=rows: writer.execute(table.insert(), rows))  # type: ignore[misc]


def _stretches(connection: sa.Connection, table: sa.Table) -> Iterator[Sequence[dict[str, Any]]]:
    found = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(sa.select(table))
    for rows in found.mappings().partitions():
        yield [dict(row) for row in rows]
