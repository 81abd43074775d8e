"""The SQL store keeps the contract on a SQLite file and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store import StoreContract

from roost.store import open_store
from roost.store.base import Store


class TestSqliteFile(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{tmp_path / 'roost %.db'}")
        yield store
        store.close()


class TestSqliteInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = open_store("sqlite://")
        yield store
        store.close()
