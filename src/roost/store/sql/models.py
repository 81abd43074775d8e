"""Models: one row per version; the highest version of each name, so that none is given twice; which run requested which."""

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import sqlalchemy as sa

from roost.domain import codec
from roost.domain.errors import ModelNotFound
from roost.domain.models import Model, Resources
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_M, _U = t.models.c, t.model_uses.c
_JSON = ("tags", "properties", "datasets", "resources")


class SqlModels:
    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, model: Model, key: str) -> tuple[Model, bool]:
        again = sa.select(t.models).where(_M.workspace == model.workspace, _M.key == key)

        def work(connection: sa.Connection) -> tuple[Model, bool]:
            known = connection.execute(again).one_or_none()
            if known is not None:
                return _model(known), False
            made = replace(model, version=_next_version(connection, model))
            connection.execute(t.models.insert(), {**_values(made), "key": key})
            return made, True

        return self._database.write(work)

    def get(self, workspace: str, name: str, version: int | None = None) -> Model:
        wanted = _versions(workspace, name)
        if version is not None:
            wanted = wanted.where(_M.version == version)
        row = self._database.read(lambda connection: connection.execute(wanted.limit(1)).one_or_none())
        if row is None:
            raise self._missing(workspace, name, version)
        return _model(row)

    def list(
        self,
        workspace: str,
        *,
        name: str | None = None,
        run_id: str | None = None,
        framework: str | None = None,
        latest: bool = False,
    ) -> Sequence[Model]:
        wanted = sa.select(t.models).where(_M.workspace == workspace)
        for column, value in ((_M.name, name), (_M.run_id, run_id), (_M.framework, framework)):
            if value is not None:
                wanted = wanted.where(column == value)
        if latest:
            other = t.models.alias()
            newest = sa.select(sa.func.max(other.c.version)).where(
                other.c.workspace == _M.workspace, other.c.name == _M.name
            )
            wanted = wanted.where(_M.version == newest.scalar_subquery())
        wanted = wanted.order_by(_M.created_at.desc(), _M.name, _M.version.desc())
        return self._database.read(lambda connection: [_model(row) for row in connection.execute(wanted)])

    def change(self, workspace: str, name: str, version: int, decide: Callable[[Model], Model]) -> Model:
        one = sa.and_(_M.workspace == workspace, _M.name == name, _M.version == version)

        def work(connection: sa.Connection) -> Model | None:
            row = connection.execute(sa.select(t.models).where(one)).one_or_none()
            if row is None:
                return None
            changed = decide(_model(row))
            connection.execute(t.models.update().where(one).values(_values(changed)))
            return changed

        found = self._database.write(work)
        if found is None:
            raise self._missing(workspace, name, version)
        return found

    def delete(self, workspace: str, name: str, version: int) -> bool:
        gone = t.models.delete().where(_M.workspace == workspace, _M.name == name, _M.version == version)
        return self._database.write(lambda connection: connection.execute(gone).rowcount > 0)

    def note_use(self, run_id: str, model_id: str, at: float) -> None:
        def work(connection: sa.Connection) -> None:
            values = {"run_seq": rows.run_seq(connection, run_id), "model": model_id, "at": at}
            connection.execute(insert(connection, t.model_uses).values(values).on_conflict_do_nothing())

        self._database.write(work)

    def used_by_run(self, run_id: str) -> Sequence[str]:
        def work(connection: sa.Connection) -> list[str]:
            seq = rows.run_seq(connection, run_id)
            wanted = sa.select(_U.model).where(_U.run_seq == seq).order_by(_U.at, _U.model)
            return list(connection.execute(wanted).scalars())

        return self._database.read(work)

    def users(self, workspace: str, model_id: str, limit: int) -> Sequence[str]:
        wanted = (
            sa.select(t.runs.c.id)
            .join(t.model_uses, _U.run_seq == t.runs.c.seq)
            .where(_U.model == model_id, t.runs.c.workspace == workspace)
            .order_by(_U.run_seq.desc())
            .limit(limit)
        )
        return self._database.read(lambda connection: list(connection.execute(wanted).scalars()))

    def _missing(self, workspace: str, name: str, version: int | None) -> ModelNotFound:
        there = [each.version for each in self.list(workspace, name=name)]
        what = f"Model {name!r}" + (f" of version {version}" if version is not None else "")
        if there:
            hint = f"Its versions are: {', '.join(map(str, there[:20]))}."
        else:
            known = sorted({each.name for each in self.list(workspace, latest=True)})
            near = difflib.get_close_matches(name, known, n=2)
            hint = (
                f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            ) + "List them with: roost model list"
        return ModelNotFound(f"ModelNotFound: {what} is not in workspace {workspace!r}.", hint=hint)


def _next_version(connection: sa.Connection, model: Model) -> int:
    n = t.model_names.c
    values = {"workspace": model.workspace, "name": model.name, "newest": 1}
    upsert = insert(connection, t.model_names).values(values)
    counted = upsert.on_conflict_do_update(index_elements=["workspace", "name"], set_={"newest": n.newest + 1})
    connection.execute(counted)
    newest = sa.select(n.newest).where(n.workspace == model.workspace, n.name == model.name)
    return int(connection.execute(newest).scalar_one())


def _versions(workspace: str, name: str) -> sa.Select[*tuple[object, ...]]:
    """The versions of one name, newest first."""
    return sa.select(t.models).where(_M.workspace == workspace, _M.name == name).order_by(_M.version.desc())


def _values(model: Model) -> dict[str, object]:
    values = {field.name: getattr(model, field.name) for field in fields(Model)}
    return {name: rows.dumps(value) if name in _JSON else value for name, value in values.items()}


def _model(row: rows.Row) -> Model:
    values = {field.name: row._mapping[field.name] for field in fields(Model)}
    loaded = {name: json.loads(value) if name in _JSON else value for name, value in values.items()}
    loaded["datasets"] = tuple((purpose, dataset_id) for purpose, dataset_id in loaded["datasets"])
    loaded["resources"] = codec.decode(Resources, loaded["resources"])
    return Model(**loaded)
