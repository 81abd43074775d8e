"""Datastores: the public settings of each, and its sealed credential."""

import difflib
import json
from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.datastores import OWN, Datastore, DatastoreKind
from roost.domain.errors import DataConflict, DataNotFound
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_D = t.datastores.c
_KNOWN = [
    *(_D[name] for name in ("workspace", "name", "kind", "settings", "read_only", "user", "created_at")),
    _D.sealed.is_not(None).label("has_credential"),
]


class SqlDatastores:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, datastore: Datastore, sealed: bytes | None, *, overwrite: bool) -> Datastore:
        values = {
            "workspace": datastore.workspace,
            "name": datastore.name,
            "kind": datastore.kind.value,
            "settings": rows.dumps(datastore.settings),
            "read_only": datastore.read_only,
            "user": datastore.user,
            "created_at": datastore.created_at,
            "sealed": sealed,
        }

        def work(connection: sa.Connection) -> Datastore:
            upsert = insert(connection, t.datastores).values(values)
            if overwrite:
                changed = {key: upsert.excluded[key] for key in values if key not in ("workspace", "name")}
                connection.execute(upsert.on_conflict_do_update(index_elements=["workspace", "name"], set_=changed))
            elif connection.execute(upsert.on_conflict_do_nothing().returning(_D.name)).first() is None:
                raise DataConflict(
                    f"There is a datastore {datastore.name!r} in workspace {datastore.workspace!r} already.",
                    hint="Give overwrite=True to replace it, or another name.",
                    cli_hint="Give --overwrite to replace it, or another name.",
                )
            return _datastore(connection.execute(_of(datastore.workspace, datastore.name)).one())

        return self._database.write(work)

    def get(self, workspace: str, name: str) -> Datastore:
        row = self._database.read(lambda connection: connection.execute(_of(workspace, name)).one_or_none())
        if row is None:
            near = difflib.get_close_matches(name, [*OWN, *(each.name for each in self.list(workspace))], n=2)
            meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise DataNotFound(
                f"There is no datastore {name!r} in workspace {workspace!r}.",
                hint=f"{meant}List them with: roost datastore list",
            )
        return _datastore(row)

    def sealed(self, workspace: str, name: str) -> bytes | None:
        statement = sa.select(_D.sealed).where(_D.workspace == workspace, _D.name == name)
        found = self._database.read(lambda connection: connection.execute(statement).scalar())
        return None if found is None else bytes(found)

    def list(self, workspace: str) -> Sequence[Datastore]:
        statement = sa.select(*_KNOWN).where(_D.workspace == workspace).order_by(_D.name)
        return self._database.read(lambda connection: [_datastore(row) for row in connection.execute(statement)])

    def delete(self, workspace: str, name: str) -> bool:
        default = t.default_datastores

        def work(connection: sa.Connection) -> bool:
            connection.execute(default.delete().where(default.c.workspace == workspace, default.c.name == name))
            gone = t.datastores.delete().where(_D.workspace == workspace, _D.name == name)
            return connection.execute(gone).rowcount > 0

        return self._database.write(work)

    def default(self, workspace: str) -> str:
        statement = sa.select(t.default_datastores.c.name).where(t.default_datastores.c.workspace == workspace)
        return self._database.read(lambda connection: connection.execute(statement).scalar()) or ""

    def set_default(self, workspace: str, name: str) -> None:
        def work(connection: sa.Connection) -> None:
            upsert = insert(connection, t.default_datastores).values(workspace=workspace, name=name)
            connection.execute(upsert.on_conflict_do_update(index_elements=["workspace"], set_={"name": name}))

        self._database.write(work)

    def any_sealed(self) -> bool:
        statement = sa.select(_D.name).where(_D.sealed.is_not(None)).limit(1)
        return self._database.read(lambda connection: connection.execute(statement).first() is not None)


def _of(workspace: str, name: str) -> sa.Select[*tuple[object, ...]]:
    return sa.select(*_KNOWN).where(_D.workspace == workspace, _D.name == name)


def _datastore(row: rows.Row) -> Datastore:
    return Datastore(
        workspace=row.workspace,
        name=row.name,
        kind=DatastoreKind(row.kind),
        settings=json.loads(row.settings),
        has_credential=bool(row.has_credential),
        read_only=row.read_only,
        user=row.user,
        created_at=row.created_at,
    )
