"""The writer's thread: groups, failures, a full disk, closing; and a process that is killed in the middle of it."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.contracts.store import HEADER, WS, at_once, logged, numbers, ship, submission

from roost.domain.errors import DiskFull, Incompatible, NotFound, Unavailable
from roost.domain.workspaces import Experiment, Workspace
from roost.store import open_store
from roost.store.sql.engine import MEMORY, SqliteDatabase
from roost_job.tracking import records


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(str(tmp_path / "a.db"))
    database.write(lambda c: c.exec_driver_sql("CREATE TABLE numbers (number INTEGER UNIQUE)").close())
    yield database
    database.close()


def add(number: int):  # type: ignore[no-untyped-def]
    return lambda connection: connection.exec_driver_sql("INSERT INTO numbers VALUES (?)", (number,)).close()


def stored(database: SqliteDatabase) -> list[int]:
    return database.read(lambda c: list(c.exec_driver_sql("SELECT number FROM numbers ORDER BY number").scalars()))


class Held:
    """Keeps the writer busy until it is let go, so that what is written meanwhile waits as one group."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._let_go, self._busy = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=database.write, args=(self._hold,))
        self._thread.start()
        self._busy.wait()

    def _hold(self, connection: sa.Connection) -> None:
        self._busy.set()
        self._let_go.wait()

    def let_go(self) -> None:
        self._let_go.set()
        self._thread.join()


def write_as_group(database: SqliteDatabase, works) -> list[object]:  # type: ignore[no-untyped-def]
    """The outcome of each, an exception where it raised."""
    held, outcomes = Held(database), {}

    def write(index: int) -> None:
        try:
            outcomes[index] = database.write(works[index])
        except Exception as error:
            outcomes[index] = error

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(works))]
    for count, thread in enumerate(threads, 1):
        thread.start()
        while database._jobs.qsize() < count:  # in order, and all of them before the first runs
            pass
    held.let_go()
    for thread in threads:
        thread.join()
    return [outcomes[i] for i in range(len(works))]


def test_a_failed_function_takes_nothing_else_along(database: SqliteDatabase) -> None:
    def half(connection: sa.Connection) -> None:
        add(100)(connection)
        raise NotFound("no such thing")

    outcomes = write_as_group(database, [add(1), half, add(2), add(1), add(3)])
    assert stored(database) == [1, 2, 3]
    assert isinstance(outcomes[1], NotFound)
    assert "UNIQUE" in str(outcomes[3])
    assert [outcomes[i] for i in (0, 2, 4)] == [None, None, None]


def test_a_group_that_fails_as_a_whole_is_tried_one_by_one(database: SqliteDatabase) -> None:
    def gives_up_everything(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")  # as SQLite does by itself when the disk is full
        raise NotFound("gone")

    outcomes = write_as_group(database, [add(1), gives_up_everything, add(2)])
    assert stored(database) == [1, 2]
    assert isinstance(outcomes[1], NotFound)


def test_readers_do_not_wait_for_the_writer(database: SqliteDatabase) -> None:
    database.write(add(1))
    held = Held(database)
    assert stored(database) == [1]
    held.let_go()


def test_a_read_sees_one_snapshot(database: SqliteDatabase) -> None:
    def twice(connection: sa.Connection) -> tuple[int, int]:
        count = sa.text("SELECT count(*) FROM numbers")
        before = connection.execute(count).scalar_one()
        database.write(add(1))
        return before, connection.execute(count).scalar_one()

    assert database.read(twice) == (0, 0)
    assert stored(database) == [1]


@pytest.mark.parametrize("name", ["a.db", MEMORY])
def test_a_full_disk_is_said_and_survived(tmp_path: Path, name: str) -> None:
    store = open_store("sqlite://" if name == MEMORY else f"sqlite:///{tmp_path / name}")
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    store.runs.create(WS, submission("r1"), user="ann", at=1.0)
    database = store._database  # type: ignore[attr-defined]

    def limit(pages: int) -> None:
        database.write(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count={pages}").close())

    pages = database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar_one())
    limit(pages + 2)
    with pytest.raises(DiskFull) as caught:
        store.streams.append("r1", "log", 0, b"x" * 1_000_000)
    assert "Free some space" in caught.value.hint
    assert store.streams.size("r1", "log") is None

    def fill(thread: int) -> None:
        with pytest.raises(DiskFull):
            store.streams.append("r1", f"log{thread}", 0, b"x" * 1_000_000)

    at_once(fill, 4)
    limit(1_000_000)
    assert store.streams.append("r1", "log", 0, b"x" * 1_000_000) == 1_000_000
    store.close()


def _refusing_rollback(connection: sa.Connection) -> None:
    """As a disk without room may do."""

    def allow(action: int, first: str | None, *_: str | None) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and first == "ROLLBACK"
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    connection.connection.dbapi_connection.set_authorizer(allow)  # type: ignore[union-attr]
    raise NotFound("no such thing")


@pytest.mark.parametrize("alone", [True, False])
def test_a_transaction_that_cannot_be_rolled_back_stops_nobody(database: SqliteDatabase, alone: bool) -> None:
    if alone:
        with pytest.raises(NotFound):
            database.write(_refusing_rollback)
    else:

        def failing(connection: sa.Connection) -> None:
            connection.exec_driver_sql("ROLLBACK TO job").close()
            connection.exec_driver_sql("RELEASE job").close()
            _refusing_rollback(connection)

        outcomes = write_as_group(database, [add(1), failing, add(2)])
        assert (outcomes[0], outcomes[2]) == (None, None)
        assert isinstance(outcomes[1], Exception)
    database.write(add(3))
    assert stored(database) == ([3] if alone else [1, 2, 3])


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    store.close()
    store.close()
    for ask in (store.workspaces.list, store.leases.inherit):
        with pytest.raises(Unavailable, match="closed"):
            ask()


def test_close_waits_for_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = SqliteDatabase(str(path))
    database.write(lambda c: c.exec_driver_sql("CREATE TABLE numbers (number INTEGER)").close())
    held = Held(database)
    writer = threading.Thread(target=database.write, args=(add(1),))
    writer.start()
    while database._jobs.empty():
        pass
    closer = threading.Thread(target=database.close)
    closer.start()
    held.let_go()
    writer.join()
    closer.join()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT number FROM numbers").fetchall() == [(1,)]
    connection.close()


def test_what_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database at all, " * 100)
    with pytest.raises(Incompatible, match="not a database"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == b"not a database at all, " * 100
    with pytest.raises(Unavailable, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path / 'no' / 'folder' / 'a.db'}")


WRITER = """
import sys
from tests.contracts.store import HEADER, numbers, ship, submission, WS
from roost.store import open_store
from roost_job.tracking import records

store = open_store(sys.argv[1])
data = HEADER + records.name(1, "loss")
print("ready", flush=True)
for i in range(100_000):
    data += numbers(i * 10, 10)
    mark = ship(store, "r1", "s", data)
    store.streams.append("r1", "log", i * 5, b"%04d\\n" % (i % 10_000))
    store.runs.create(WS, submission(f"k{i}"), user="ann", at=1.0)
    print(mark, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 20, 77])
def test_a_killed_writer_leaves_all_that_it_was_told_is_written(tmp_path: Path, after: int) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    store = open_store(url)
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    store.runs.create(WS, submission("r1"), user="ann", at=1.0)
    store.close()
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after + 1)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
    marks = [int(line) for line in lines[1:] if line.endswith(b"\n")]

    with sqlite3.connect(tmp_path / "a.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    store = open_store(url)
    mark = store.metrics.spool("r1", "s").offset
    head = HEADER + records.name(1, "loss")
    count = (mark - len(head)) // 37
    assert mark >= marks[-1]
    assert logged(store, "r1", "loss") == [float(i) for i in range(count)]
    assert store.metrics.summaries("r1")[0].count == count
    size = store.streams.size("r1", "log")
    assert size is not None
    assert size >= 5 * len(marks)
    assert len(store.streams.read("r1", "log", 0, 10**9)) == size
    made = store.runs.get(f"k{len(marks) - 1}")
    assert made.number == len(marks) + 1
    # It goes on from there.
    assert ship(store, "r1", "s", head + numbers(0, count + 5)) == mark + 5 * 37
    store.close()
