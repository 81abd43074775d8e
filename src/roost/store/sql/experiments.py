"""Experiments: read by workspace and name. Their runs refer to them by name, and get their numbers there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from roost.domain import labels
from roost.domain.errors import Conflict, NotFound
from roost.domain.workspaces import Experiment
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.statements import Statement

_COLUMNS = [t.experiments.c[name] for name in ("id", "workspace", "name", "user", "created_at", "tags", "archived_at")]
_BY_NAME = Statement(
    sa.select(*_COLUMNS).where(
        t.experiments.c.workspace == sa.bindparam("in_workspace"), t.experiments.c.name == sa.bindparam("of_name")
    )
)


class SqlExperiments:
    def __init__(self, database: Database) -> None:
        self._database = database

    def ensure(self, experiment: Experiment) -> Experiment:
        def work(connection: sa.Connection) -> Experiment:
            found = _find(connection, experiment.workspace, experiment.name)
            if found is None:
                _check_workspace(connection, experiment.workspace)
                values = {
                    "id": experiment.id,
                    "workspace": experiment.workspace,
                    "name": experiment.name,
                    "user": experiment.user,
                    "created_at": experiment.created_at,
                    "run_count": 0,
                    "tags": rows.dumps(experiment.tags),
                    "archived_at": experiment.archived_at,
                }
                connection.execute(
                    insert(connection, t.experiments).on_conflict_do_nothing(index_elements=["workspace", "name"]),
                    values,
                )
                found = _find(connection, experiment.workspace, experiment.name)
            assert found is not None
            return found

        # It nearly always exists: then a submission need not queue behind the writer.
        known = self._database.read(lambda connection: _find(connection, experiment.workspace, experiment.name))
        return known or self._database.write(work)

    def get(self, workspace: str, name: str) -> Experiment:
        return self._database.read(lambda connection: _get(connection, workspace, name))

    def list(self, workspace: str, *, replicas: bool = False) -> Sequence[Experiment]:
        statement = sa.select(*_COLUMNS).where(t.experiments.c.workspace == workspace).order_by(t.experiments.c.name)
        if not replicas:
            statement = statement.where(t.experiments.c.only_replicas.is_not(True))

        def work(connection: sa.Connection) -> Sequence[Experiment]:
            _check_workspace(connection, workspace)
            return [_experiment(row) for row in connection.execute(statement)]

        return self._database.read(work)

    def annotate(
        self,
        workspace: str,
        name: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
    ) -> Experiment:
        def work(connection: sa.Connection) -> Experiment:
            before = _get(connection, workspace, name)
            gone = frozenset(remove_tags)
            after = {key: v for key, v in {**before.tags, **(tags or {})}.items() if key not in gone}
            labels.check_merged("tag", before.tags, after)
            connection.execute(_this(workspace, name).values(tags=rows.dumps(after)))
            return replace(before, tags=after)

        return self._database.write(work)

    def archive(self, workspace: str, name: str, at: float | None) -> Experiment:
        def work(connection: sa.Connection) -> Experiment:
            before = _get(connection, workspace, name)
            connection.execute(_this(workspace, name).values(archived_at=at))
            return replace(before, archived_at=at)

        return self._database.write(work)

    def delete(self, workspace: str, name: str) -> None:
        def work(connection: sa.Connection) -> None:
            _get(connection, workspace, name)
            runs = sa.select(t.runs.c.id).where(t.runs.c.workspace == workspace, t.runs.c.experiment == name).limit(1)
            if connection.execute(runs).one_or_none() is not None:
                raise Conflict(
                    f"Experiment {name!r} has runs and cannot be deleted.",
                    hint="Delete its runs first, or put it away with archive().",
                )
            connection.execute(
                t.experiments.delete().where(t.experiments.c.workspace == workspace, t.experiments.c.name == name)
            )

        self._database.write(work)


def _this(workspace: str, name: str) -> sa.Update:
    return t.experiments.update().where(t.experiments.c.workspace == workspace, t.experiments.c.name == name)


def _get(connection: sa.Connection, workspace: str, name: str) -> Experiment:
    found = _find(connection, workspace, name)
    if found is None:
        raise NotFound(f"There is no experiment {name!r} in workspace {workspace!r}.")
    return found


def _find(connection: sa.Connection, workspace: str, name: str) -> Experiment | None:
    row = _BY_NAME.one(connection, in_workspace=workspace, of_name=name)
    return None if row is None else Experiment(**{**row._asdict(), "tags": json.loads(row.tags)})


def _experiment(row: rows.Row) -> Experiment:
    return Experiment(**{**row._mapping, "tags": json.loads(row.tags)})


def _check_workspace(connection: sa.Connection, name: str) -> None:
    known = sa.select(t.workspaces.c.name).where(t.workspaces.c.name == name)
    if connection.execute(known).one_or_none() is None:
        raise NotFound(
            f"There is no workspace {name!r}.",
            hint="Make it with: Workspace.create(name).",
            cli_hint="One that a config.json names is made when it is first used.",
        )
