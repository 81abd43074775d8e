"""A look for work walks an index, and what has ended does not lengthen it."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.contracts.store import WS, event, submission

from roost.domain.runs import RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store import open_store
from roost.store.base import NEW_RUNS
from roost.store.sql import gangs, leases, runs
from roost.store.sql.tables import metadata


def test_what_is_due_is_found_by_an_index_in_its_order() -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        wanted = leases.DUE.limit(10).params(of_noun="runs", at=1.0)
        sql = str(wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True}))
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}")]
    engine.dispose()
    assert steps == ["SEARCH leases USING INDEX ix_leases_due (noun=? AND due<?)"]


@pytest.mark.parametrize("clause", [runs.TOUCH_ALL, runs.ACTIVE, gangs.LIVING])
def test_what_is_asked_of_living_runs_does_not_walk_through_those_that_ended(clause: Any) -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        sql = str(clause.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True}))
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", ("",) * sql.count("?"))
        steps = [row[3] for row in plan]
    engine.dispose()
    assert steps[0].startswith("SEARCH leases")
    assert not [step for step in steps if step.startswith("SCAN")]


def test_a_run_leaves_no_lease_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = open_store(f"sqlite:///{path}")
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    for number, end in enumerate(status for status in RunStatus if status.is_terminal):
        store.runs.create(WS, submission(f"r{number}"), user="ann", at=2.0)
        (lease,) = store.leases.take(NEW_RUNS, at=3.0, seconds=5.0, limit=5)
        store.runs.apply(f"r{number}", event(RunStatus.QUEUED), lease=lease)
        for status in (RunStatus.PROVISIONING, RunStatus.RUNNING, end):
            store.runs.apply(f"r{number}", event(status))
    store.close()
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM leases").scalar() == 0
    engine.dispose()
