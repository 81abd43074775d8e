"""Workspaces, experiments and compute: small tables that are asked for by name."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.compute import Compute
from roost.domain.errors import ComputeNotFound, NotFound
from roost.domain.workspaces import Experiment, Workspace
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_EXPERIMENT = [t.experiments.c[name] for name in ("id", "workspace", "name", "user", "created_at")]


class SqlWorkspaces:
    def __init__(self, database: Database) -> None:
        self._database = database

    def ensure(self, workspace: Workspace) -> Workspace:
        def work(connection: sa.Connection) -> Workspace:
            values = {
                "name": workspace.name,
                "user": workspace.user,
                "created_at": workspace.created_at,
                "subscription_id": workspace.subscription_id,
                "resource_group": workspace.resource_group,
                "location": workspace.location,
            }
            connection.execute(insert(connection, t.workspaces).on_conflict_do_nothing(), values)
            return _workspace(connection, workspace.name)

        return self._database.write(work)

    def get(self, name: str) -> Workspace:
        return self._database.read(lambda connection: _workspace(connection, name))

    def list(self) -> Sequence[Workspace]:
        statement = sa.select(t.workspaces).order_by(t.workspaces.c.name)
        return self._database.read(
            lambda connection: [Workspace(**row._mapping) for row in connection.execute(statement)]
        )

    def ensure_experiment(self, experiment: Experiment) -> Experiment:
        def work(connection: sa.Connection) -> Experiment:
            found = _find_experiment(connection, experiment.workspace, experiment.name)
            if found is None:
                _workspace(connection, experiment.workspace)
                values = {
                    "id": experiment.id,
                    "workspace": experiment.workspace,
                    "name": experiment.name,
                    "user": experiment.user,
                    "created_at": experiment.created_at,
                    "run_count": 0,
                }
                connection.execute(
                    insert(connection, t.experiments).on_conflict_do_nothing(index_elements=["workspace", "name"]),
                    values,
                )
                found = _find_experiment(connection, experiment.workspace, experiment.name)
            assert found is not None
            return found

        return self._database.write(work)

    def get_experiment(self, workspace: str, name: str) -> Experiment:
        found = self._database.read(lambda connection: _find_experiment(connection, workspace, name))
        if found is None:
            raise NotFound(f"There is no experiment {name!r} in workspace {workspace!r}.")
        return found

    def list_experiments(self, workspace: str) -> Sequence[Experiment]:
        statement = sa.select(*_EXPERIMENT).where(t.experiments.c.workspace == workspace).order_by(t.experiments.c.name)

        def work(connection: sa.Connection) -> Sequence[Experiment]:
            _workspace(connection, workspace)
            return [Experiment(**row._mapping) for row in connection.execute(statement)]

        return self._database.read(work)

    def ensure_compute(self, compute: Compute) -> Compute:
        def work(connection: sa.Connection) -> Compute:
            values = {"name": compute.name, "engine": compute.engine, "max_nodes": compute.max_nodes}
            upsert = insert(connection, t.computes).values(values)
            connection.execute(
                upsert.on_conflict_do_update(index_elements=["name"], set_={"max_nodes": upsert.excluded.max_nodes})
            )
            return _compute(connection, compute.name)

        return self._database.write(work)

    def get_compute(self, name: str) -> Compute:
        return self._database.read(lambda connection: _compute(connection, name))


def _one(connection: sa.Connection, table: sa.Table, name: str) -> rows.Row | None:
    return connection.execute(sa.select(table).where(table.c.name == name)).one_or_none()


def _workspace(connection: sa.Connection, name: str) -> Workspace:
    row = _one(connection, t.workspaces, name)
    if row is None:
        raise NotFound(f"There is no workspace {name!r}.", hint="Make it with: Workspace.create(name).")
    return Workspace(**row._mapping)


def _compute(connection: sa.Connection, name: str) -> Compute:
    row = _one(connection, t.computes, name)
    if row is None:
        raise ComputeNotFound(f"ComputeTargetNotFound: there is no compute target {name!r}.")
    return Compute(**row._mapping)


def _find_experiment(connection: sa.Connection, workspace: str, name: str) -> Experiment | None:
    statement = sa.select(*_EXPERIMENT).where(t.experiments.c.workspace == workspace, t.experiments.c.name == name)
    row = connection.execute(statement).one_or_none()
    return None if row is None else Experiment(**row._mapping)
