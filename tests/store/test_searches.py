"""Every shape of search walks an index in its order: nothing is scanned, nothing sorted."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from tests.contracts.store import WS, event, submission

from roost.domain.runs import RunKind, RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import RunQuery
from roost.store.sql.searches import Label, statement
from roost.store.sql.store import SqlStore
from roost.store.sql.tables import metadata

RUNNING = RunStatus.RUNNING


@pytest.fixture(scope="module")
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        yield connection
    engine.dispose()


def plan(connection: sa.Connection, wanted: sa.Select) -> list[str]:  # type: ignore[type-arg]
    sql = str(wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True}))
    return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}")]


@pytest.mark.parametrize(
    ("conditions", "status", "index"),
    [
        ({}, None, "ix_runs_workspace_parent"),
        ({"include_children": True}, None, "ix_runs_workspace"),
        ({"include_children": True, "kind": RunKind.SCRIPT}, None, "ix_runs_workspace"),
        ({"kind": RunKind.SCRIPT}, None, "ix_runs_workspace_parent"),
        ({"kind": RunKind.REPLICA}, None, "ix_runs_replicas"),
        ({"kind": RunKind.REPLICA, "include_children": True}, RUNNING, "ix_runs_replicas"),
        ({"experiment": "e", "kind": RunKind.REPLICA}, None, "ix_runs_experiment_parent"),
        ({"parent_id": "p"}, None, "ix_runs_workspace_parent"),
        ({"parent_id": "p"}, RUNNING, "ix_runs_workspace_parent"),
        ({}, RUNNING, "ix_runs_workspace_status"),
        ({"include_children": True}, RUNNING, "ix_runs_workspace_status"),
        ({"experiment": "e"}, None, "ix_runs_experiment_parent"),
        ({"experiment": "e", "include_children": True}, None, "ix_runs_experiment"),
        ({"experiment": "e", "parent_id": "p"}, RUNNING, "ix_runs_experiment_parent"),
        ({"experiment": "e"}, RUNNING, "ix_runs_experiment_status"),
        ({"experiment": "e", "include_children": True}, RUNNING, "ix_runs_experiment_status"),
    ],
)
@pytest.mark.parametrize("before", [None, 7])
def test_runs_are_walked_by_the_index_that_fits(
    connection: sa.Connection,
    conditions: dict,  # type: ignore[type-arg]
    status: RunStatus | None,
    index: str,
    before: int | None,
) -> None:
    steps = plan(connection, statement(RunQuery(workspace=WS, **conditions), status, before, None))
    assert len(steps) == 1
    assert f"USING INDEX {index} (" in steps[0]


@pytest.mark.parametrize(("value", "index"), [(None, "ix_run_labels_key"), ("v", "ix_run_labels_value")])
@pytest.mark.parametrize("before", [None, 7])
def test_a_leading_label_is_walked_by_its_index(
    connection: sa.Connection, value: str | None, index: str, before: int | None
) -> None:
    query = RunQuery(workspace=WS, tags={"k": value, "other": None}, properties={"p": "q"}, experiment="e")
    steps = plan(connection, statement(query, RUNNING, before, Label("tag", "k", value)))
    assert "SEARCH lead USING " in steps[0]
    assert f"INDEX {index} (" in steps[0]
    assert any("SEARCH runs USING INTEGER PRIMARY KEY" in step for step in steps)
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps)


def test_a_rare_status_leads_before_a_common_tag() -> None:
    store = SqlStore.open("sqlite://")
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    for i in range(30):
        store.runs.create(WS, submission(f"r{i}", tags={"common": "1", "each": str(i)}), user="ann", at=1.0)
    store.runs.apply("r3", event(RUNNING))
    for tags in ({"common": "1"}, {"common": None, "each": "3"}, {"each": "3"}):
        found = store.runs.list(RunQuery(workspace=WS, tags=tags, status=[RUNNING, RunStatus.FAILED]))
        assert [run.id for run in found] == ["r3"]
    assert store.runs.list(RunQuery(workspace=WS, tags={"each": "4"}, status=[RUNNING])) == []
    store.close()
