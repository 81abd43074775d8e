"""The store over SQL: one database, one object per noun."""

from roost.domain.errors import Incompatible, InvalidInput
from roost.store.base import Pieces
from roost.store.sql.compute import SqlComputes
from roost.store.sql.datasets import SqlDatasets
from roost.store.sql.datastores import SqlDatastores
from roost.store.sql.endpoints import SqlEndpoints
from roost.store.sql.engine import MEMORY, Database, SqliteDatabase
from roost.store.sql.environments import SqlEnvironments
from roost.store.sql.experiments import SqlExperiments
from roost.store.sql.files import SqlFiles
from roost.store.sql.gangs import SqlGangs
from roost.store.sql.leases import SqlLeases
from roost.store.sql.metrics import SqlMetrics
from roost.store.sql.models import SqlModels
from roost.store.sql.people import SqlPeople
from roost.store.sql.runs import SqlRuns
from roost.store.sql.schema import prepare
from roost.store.sql.secrets import SqlSecrets
from roost.store.sql.streams import SqlStreams
from roost.store.sql.upkeep import SqlUpkeep
from roost.store.sql.workspaces import SqlWorkspaces


class SqlStore:
    """Implements `roost.store.base.Store`."""

    def __init__(self, database: Database, pieces: Pieces | None = None) -> None:
        self._database = database
        self.workspaces = SqlWorkspaces(database)
        self.experiments = SqlExperiments(database)
        self.computes = SqlComputes(database)
        self.gangs = SqlGangs(database)
        self.leases = SqlLeases(database)
        self.runs = SqlRuns(database)
        self.metrics = SqlMetrics(database)
        self.streams = SqlStreams(database, pieces)
        self.files = SqlFiles(database)
        self.environments = SqlEnvironments(database)
        self.people = SqlPeople(database)
        self.secrets = SqlSecrets(database)
        self.datastores = SqlDatastores(database)
        self.datasets = SqlDatasets(database)
        self.models = SqlModels(database)
        self.endpoints = SqlEndpoints(database)
        self.upkeep = SqlUpkeep(database)

    @classmethod
    def open(cls, url: str, pieces: Pieces | None = None) -> "SqlStore":
        """`sqlite:///FILE`, created if missing, `sqlite://` for one in memory, or `postgresql://…`, which must exist."""
        database = _postgres(url) if url.startswith("postgresql://") else _sqlite(url)
        try:
            prepare(database, url.rpartition("@")[2])
            database.remember()
        except BaseException:
            database.close()
            raise
        return cls(database, pieces)

    def close(self) -> None:
        self._database.close()


def _sqlite(url: str) -> Database:
    path = MEMORY if url == "sqlite://" else url.removeprefix("sqlite:///")
    if path == url or not path:
        raise InvalidInput(
            f"Store {url!r} is not known.", hint="Give `sqlite:///FILE`, or `sqlite://` for one in memory."
        )
    return SqliteDatabase(path)


def _postgres(url: str) -> Database:
    try:
        from roost.store.sql.postgres import PostgresDatabase  # noqa: PLC0415 - its driver is optional
    except ImportError as error:
        raise Incompatible(
            f"The driver of PostgreSQL cannot be loaded: {error}.", hint="pip install 'roost[postgres]'"
        ) from None
    return PostgresDatabase(url)
