"""The store keeps its promises on a real PostgreSQL, and a control plane on one does what it does on SQLite."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.contracts.compute import ComputeContract
from tests.contracts.data import DataContract
from tests.contracts.endpoints import EndpointsContract
from tests.contracts.environments import EnvironmentsContract
from tests.contracts.files import FilesContract
from tests.contracts.leases import LeasesContract
from tests.contracts.metrics import MetricsContract
from tests.contracts.models import ModelsContract
from tests.contracts.people import PeopleContract
from tests.contracts.rankings import RankingContract
from tests.contracts.runs import RunsContract
from tests.contracts.secrets import SecretsContract
from tests.contracts.store import at_once, submission
from tests.contracts.streams import StreamsContract
from tests.contracts.upkeep import UpkeepContract
from tests.contracts.workspaces import WorkspacesContract
from tests.real.clusters import Cluster, running
from tests.shared.folders import tree
from tests.store.older import LEASES, NAMES_IN_LINEAGE, before_leases, before_names_in_lineage, leases_of

from roost import Experiment, ScriptRunConfig
from roost import Workspace as SdkWorkspace
from roost.blobs.folder import FolderBlobs
from roost.domain.errors import Unavailable
from roost.domain.workspaces import Experiment as Training
from roost.domain.workspaces import Workspace
from roost.store import open_store
from roost.store.base import NEW_RUNS, Store
from roost.store.migrations import REVISIONS
from roost.store.migrations.upgrade import upgrade
from roost.store.sql.postgres import PostgresDatabase
from roost.store.sql.schema import prepare
from roost.store.sql.tables import metadata

pytestmark = pytest.mark.real

SCRIPT = """
import os
from azureml.core import Run

run = Run.get_context()
for step in range(3):
    run.log("loss", 1 / (step + 1))
run.log("words", "ü")
run.tag("phase", "done")
os.makedirs("outputs", exist_ok=True)
open("outputs/model", "w").write("7")
print("trained")
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as made:
        yield made


class OnPostgres:
    @pytest.fixture
    def store(self, cluster: Cluster, tmp_path: Path) -> Iterator[Store]:
        store = open_store(cluster.new_database(), FolderBlobs(tmp_path / "blobs"))
        yield store
        store.close()


class TestWorkspaces(OnPostgres, WorkspacesContract):
    """Each of these runs the whole contract of its noun."""


class TestRuns(OnPostgres, RunsContract):
    pass


class TestLeases(OnPostgres, LeasesContract):
    pass


class TestRankings(OnPostgres, RankingContract):
    pass


class TestMetrics(OnPostgres, MetricsContract):
    pass


class TestStreams(OnPostgres, StreamsContract):
    pass


class TestFiles(OnPostgres, FilesContract):
    pass


class TestPeople(OnPostgres, PeopleContract):
    pass


class TestSecrets(OnPostgres, SecretsContract):
    pass


class TestData(OnPostgres, DataContract):
    pass


class TestModels(OnPostgres, ModelsContract):
    pass


class TestEndpoints(OnPostgres, EndpointsContract):
    pass


class TestEnvironments(OnPostgres, EnvironmentsContract):
    pass


class TestCompute(OnPostgres, ComputeContract):
    pass


class TestUpkeep(OnPostgres, UpkeepContract):
    shrinks = False


def test_many_that_come_to_an_empty_database_at_once_make_it_once(cluster: Cluster) -> None:
    url = cluster.new_database()
    stores = at_once(lambda _: open_store(url), 4)
    for store in stores:
        store.workspaces.ensure(Workspace(name="w", user="ann", created_at=1.0))
    assert [len(store.workspaces.list()) for store in stores] == [1] * 4
    for store in stores:
        store.close()


def test_runs_keep_the_names_of_what_they_used_before(cluster: Cluster) -> None:
    url = cluster.new_database()
    database = PostgresDatabase(url)
    database.write(before_names_in_lineage)
    database.close()
    store = open_store(url)
    store.datasets.delete("w", "birds")
    uses = store.datasets.uses_of_run("r1")
    assert {use.name: (use.dataset_name, use.dataset_version, use.unregistered) for use in uses} == NAMES_IN_LINEAGE
    store.close()


def test_leases_of_runs_and_endpoints_are_kept(cluster: Cluster) -> None:
    url = cluster.new_database()
    database = PostgresDatabase(url)
    database.write(before_leases)
    database.close()
    store = open_store(url)
    assert leases_of(store) == LEASES
    store.experiments.ensure(Training(id="e", workspace="w", name="train", user="ann", created_at=1.0))
    store.runs.create("w", submission("new"), user="ann", at=1.0)  # its row is numbered after those that were moved
    assert store.leases.take(NEW_RUNS, at=60.0, seconds=1.0, limit=9)[0].key == "new"
    store.close()


def test_an_older_database_is_brought_up_to_date(cluster: Cluster) -> None:
    url = cluster.new_database()
    database = PostgresDatabase(url)
    database.write(lambda connection: upgrade(connection, REVISIONS[0]))
    prepare(database, url)
    assert database.read(lambda connection: compare_metadata(MigrationContext.configure(connection), metadata)) == []
    database.close()


def test_a_database_that_is_not_there_is_named_without_its_password(cluster: Cluster) -> None:
    with pytest.raises(Unavailable, match=r"roost:\*\*\*@127.0.0.1.* cannot be reached: .*nowhere") as caught:
        open_store(cluster.url("nowhere"))
    assert cluster.password not in str(caught.value)


def test_a_control_plane_on_it(cluster: Cluster, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_STORE_URL", cluster.new_database())
    source = tree(tmp_path / "source", {"train.py": SCRIPT})
    experiment = Experiment(SdkWorkspace.from_config(path=str(tmp_path)), "birds")
    run = experiment.submit(ScriptRunConfig(source, script="train.py"))
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {"loss": [1.0, 0.5, 1 / 3], "words": "ü"}
    assert "outputs/model" in run.get_file_names()
    assert run.get_tags() == {"phase": "done"}
    assert [each.id for each in experiment.get_runs(tags={"phase": "done"})] == [run.id]
    assert not (home / "roost.db").exists()
    os.kill(json.loads((home / "server.json").read_text())["pid"], signal.SIGKILL)
    again = experiment.submit(ScriptRunConfig(source, script="train.py"))  # brings another control plane up
    again.wait_for_completion()
    assert [each.id for each in experiment.get_runs()] == [again.id, run.id]
