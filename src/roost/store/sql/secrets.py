"""Sealed secrets: the store never sees a key or a plain value."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from roost.domain.secrets import Secret
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_SECRET = [t.secrets.c[name] for name in ("workspace", "name", "user", "created_at", "updated_at")]


class SqlSecrets:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, workspace: str, sealed: Mapping[str, bytes], *, user: str, at: float) -> None:
        rows = [
            {"workspace": workspace, "name": name, "user": user, "created_at": at, "updated_at": at, "sealed": body}
            for name, body in sealed.items()
        ]

        def work(connection: sa.Connection) -> None:
            for row in rows:
                upsert = insert(connection, t.secrets).values(row)
                changed = {key: upsert.excluded[key] for key in ("user", "updated_at", "sealed")}
                connection.execute(upsert.on_conflict_do_update(index_elements=["workspace", "name"], set_=changed))

        self._database.write(work)

    def get(self, workspace: str, names: Sequence[str]) -> dict[str, bytes]:
        statement = sa.select(t.secrets.c.name, t.secrets.c.sealed).where(
            t.secrets.c.workspace == workspace, t.secrets.c.name.in_(list(names))
        )
        return self._database.read(
            lambda connection: {row.name: bytes(row.sealed) for row in connection.execute(statement)}
        )

    def list(self, workspace: str) -> Sequence[Secret]:
        statement = sa.select(*_SECRET).where(t.secrets.c.workspace == workspace).order_by(t.secrets.c.name)
        return self._database.read(lambda connection: [Secret(**row._mapping) for row in connection.execute(statement)])

    def delete(self, workspace: str, name: str) -> bool:
        statement = t.secrets.delete().where(t.secrets.c.workspace == workspace, t.secrets.c.name == name)
        return self._database.write(lambda connection: connection.execute(statement).rowcount > 0)

    def any_sealed(self) -> bool:
        statement = sa.select(t.secrets.c.name).limit(1)
        return self._database.read(lambda connection: connection.execute(statement).first() is not None)
