"""Deleting and upkeep on a SQLite file and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.upkeep import UpkeepContract

from roost.store import open_store
from roost.store.base import Store


class TestSqliteFile(UpkeepContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{tmp_path / 'roost %.db'}")
        yield store
        store.close()


class TestSqliteInMemory(UpkeepContract):
    shrinks = False

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = open_store("sqlite://")
        yield store
        store.close()
