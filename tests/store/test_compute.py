"""The SQL store keeps the contract of compute on a SQLite file and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.compute import ComputeContract

from roost.store import open_store
from roost.store.base import Store


class TestSqliteFile(ComputeContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
        yield store
        store.close()


class TestSqliteInMemory(ComputeContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = open_store("sqlite://")
        yield store
        store.close()
