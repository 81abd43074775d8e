"""Long streams: the database keeps the last megabytes, files the rest, and a mark never disagrees with its bytes."""

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts.store import WS, submission

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import DiskFull
from roost.domain.workspaces import Experiment, Workspace
from roost.store import open_store
from roost.store.base import Merge, Store
from roost.store.sql.chunks import MOST_IN_ROWS

MEGABYTE = 2**20
LINES = b"".join(b"line %011d\n" % number for number in range(2 * MEGABYTE // 17))


class FullAtTimes:
    """Blobs on a disk that is full each second time, after the bytes were written."""

    def __init__(self, root: Path) -> None:
        self._blobs = FolderBlobs(root)
        self._times = itertools.count()

    def put(self, data: bytes) -> str:
        name = self._blobs.put(data)
        if next(self._times) % 2 == 0:
            raise DiskFull("No room left.")
        return name

    def open(self, name: str, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        return self._blobs.open(name, offset, limit)


def make_run(store: Store) -> None:
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    store.runs.create(WS, submission("r1"), user="ann", at=2.0)


@pytest.mark.parametrize("piece", [15_000, 300_000, 2 * MEGABYTE])
@pytest.mark.parametrize("into", [None, Merge("all", b"[0] ")])
def test_the_database_stays_small(tmp_path: Path, piece: int, into: Merge | None) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'roost.db'}", FolderBlobs(tmp_path / "blobs"))
    make_run(store)
    at = 0
    while at < 30 * MEGABYTE:
        data = LINES[:piece]
        at = store.streams.append("r1", "log", at, data, into=into)
    assert (store.streams.size("r1", "all") is not None) is (into is not None)
    assert store.streams.read("r1", "log", at - 99, 200) == data[-99:]
    store.close()
    with closing(sqlite3.connect(tmp_path / "roost.db")) as rows:
        kept = rows.execute(
            "SELECT max(size) FROM (SELECT sum(length(data)) AS size FROM stream_chunks GROUP BY stream_id)"
        )
        assert (kept.fetchone()[0] or 0) <= MOST_IN_ROWS


def test_a_transaction_that_fails_after_its_file_was_written_changes_nothing(tmp_path: Path) -> None:
    store = open_store("sqlite://", FullAtTimes(tmp_path / "blobs"))
    make_run(store)
    text, at, refused = LINES * 10, 0, 0
    while at < len(text):
        try:
            at = store.streams.append("r1", "log", at, text[at : at + MEGABYTE])
        except DiskFull:
            refused += 1
            assert store.streams.size("r1", "log") == at
    assert refused > 5
    assert store.streams.read("r1", "log", 0, 10**9) == text
    store.close()


def test_a_store_that_is_opened_again_goes_on_at_its_mark(tmp_path: Path) -> None:
    url, text = f"sqlite:///{tmp_path / 'roost.db'}", LINES * 6
    for at in range(0, len(text), len(LINES)):
        store = open_store(url, FolderBlobs(tmp_path / "blobs"))
        if not at:
            make_run(store)
        assert store.streams.size("r1", "log") == (at or None)
        store.streams.append("r1", "log", at, LINES)
        store.close()
    store = open_store(url, FolderBlobs(tmp_path / "blobs"))
    assert store.streams.read("r1", "log", 0, 10**9) == text
    store.close()
