"""Workspaces: a small table, read by name."""

import json
from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.errors import NotFound
from roost.domain.workspaces import Workspace
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert


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
                "sku": workspace.sku,
                "friendly_name": workspace.friendly_name,
                "tags": rows.dumps(workspace.tags),
            }
            connection.execute(insert(connection, t.workspaces).on_conflict_do_nothing(), values)
            return _workspace(connection, workspace.name)

        return self._database.write(work)

    def get(self, name: str) -> Workspace:
        return self._database.read(lambda connection: _workspace(connection, name))

    def list(self) -> Sequence[Workspace]:
        statement = sa.select(t.workspaces).order_by(t.workspaces.c.name)
        return self._database.read(lambda connection: [_as_workspace(row) for row in connection.execute(statement)])


def _one(connection: sa.Connection, table: sa.Table, name: str) -> rows.Row | None:
    return connection.execute(sa.select(table).where(table.c.name == name)).one_or_none()


def _workspace(connection: sa.Connection, name: str) -> Workspace:
    row = _one(connection, t.workspaces, name)
    if row is None:
        raise NotFound(
            f"There is no workspace {name!r}.",
            hint="Make it with: Workspace.create(name).",
            cli_hint="One that a config.json names is made when it is first used.",
        )
    return _as_workspace(row)


def _as_workspace(row: rows.Row) -> Workspace:
    return Workspace(**{**row._mapping, "tags": json.loads(row.tags)})
