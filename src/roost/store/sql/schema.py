"""Checks that a database has the tables of this version. A new one is created from `tables.py`; an older one is migrated.

Alembic takes 0.2 s to import, so it is imported only when there is something to migrate.
"""

import importlib

import sqlalchemy as sa

from roost.domain.errors import Incompatible
from roost.store.migrations import HEAD, REVISIONS
from roost.store.sql import tables as t
from roost.store.sql.engine import Database

_VERSIONS = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), primary_key=True),
    comment="kept by Alembic",
)


def prepare(database: Database, where: str) -> None:
    """Creates the tables, or upgrades them to HEAD. Raises Incompatible for a database of a newer Roost, or of another
    program."""
    if database.read(_version) != HEAD:
        database.write(lambda connection: _bring_to_head(connection, where))


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(_VERSIONS.name):
        return None
    return connection.execute(sa.select(_VERSIONS.c.version_num)).scalar()


def _bring_to_head(connection: sa.Connection, where: str) -> None:
    version = _version(connection)
    if version == HEAD:
        return  # another process was faster
    if version is None:
        if sa.inspect(connection).get_table_names():
            raise Incompatible(f"{where} is a database, but not Roost's.", hint="Move it away, or give another one.")
        t.metadata.create_all(connection)
        _VERSIONS.create(connection)
        connection.execute(_VERSIONS.insert(), {"version_num": HEAD})
    elif version in REVISIONS:
        importlib.import_module("roost.store.migrations.upgrade").upgrade(connection)
    else:
        raise Incompatible(
            f"{where} was written by a newer Roost (revision {version}; this one knows up to {HEAD}).",
            hint="Upgrade Roost, or give it another home folder.",
        )
