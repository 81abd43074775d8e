"""The SQL store keeps the contract of every noun on a SQLite file and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.data import DataContract
from tests.contracts.endpoints import EndpointsContract
from tests.contracts.files import FilesContract
from tests.contracts.leases import LeasesContract
from tests.contracts.metrics import MetricsContract
from tests.contracts.models import ModelsContract
from tests.contracts.people import PeopleContract
from tests.contracts.rankings import RankingContract
from tests.contracts.runs import RunsContract
from tests.contracts.secrets import SecretsContract
from tests.contracts.streams import StreamsContract
from tests.contracts.workspaces import WorkspacesContract

from roost.blobs.folder import FolderBlobs
from roost.store import open_store
from roost.store.base import Store


class EveryNoun(
    WorkspacesContract,
    RunsContract,
    LeasesContract,
    MetricsContract,
    RankingContract,
    StreamsContract,
    FilesContract,
    PeopleContract,
    SecretsContract,
    DataContract,
    EndpointsContract,
    ModelsContract,
):
    """All of them on one store."""


class TestSqliteFile(EveryNoun):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{tmp_path / 'roost %.db'}", FolderBlobs(tmp_path / "blobs"))
        yield store
        store.close()


class TestSqliteInMemory(EveryNoun):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = open_store("sqlite://")
        yield store
        store.close()
