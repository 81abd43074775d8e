"""Rows in a database of an older revision, as its tables were then: on SQLite and on PostgreSQL."""

import sqlalchemy as sa

from roost.store.migrations.upgrade import upgrade

EMPTY = {str: "", int: 0, float: 0.0, bool: False, bytes: b""}


def put(connection: sa.Connection, table: str, **values: object) -> None:
    """A row, with nothing in the columns that must have something."""
    there = sa.Table(table, sa.MetaData(), autoload_with=connection)
    needed = {each.name: EMPTY[each.type.python_type] for each in there.c if not each.nullable and each.name != "seq"}
    connection.execute(there.insert().values(needed | values))


def before_names_in_lineage(connection: sa.Connection) -> None:
    """Revision 0006: what the run r1 used has an id and no name. A dataset, one that is gone, one of another workspace, and
    data that is none."""
    upgrade(connection, "0006")
    for workspace, dataset_id, version in (("w", "d2", 2), ("other", "d3", 3)):
        put(connection, "workspaces", name=workspace)
        put(connection, "datasets", id=dataset_id, workspace=workspace, name="birds", version=version)
    put(connection, "runs", seq=1, id="r1", workspace="w")
    for name, dataset_id in (("a", "d2"), ("b", "gone"), ("c", "d3"), ("d", "")):
        use = {"run_seq": 1, "direction": "input", "name": name, "mode": "mount", "definition": "{}"}
        put(connection, "data_uses", **use, dataset_id=dataset_id)


NAMES_IN_LINEAGE = {"a": ("birds", 2, True), "b": ("", 0, True), "c": ("", 0, True), "d": ("", 0, False)}
"""What is known of each once it is migrated and the dataset is unregistered."""
