"""The SQL store keeps the contract of environments."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.environments import EnvironmentsContract

from roost.store import open_store
from roost.store.base import Store


class TestSqliteFile(EnvironmentsContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{tmp_path / 'roost.db'}")
        yield store
        store.close()
