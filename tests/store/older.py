"""Rows in a database of an older revision, as its tables were then: on SQLite and on PostgreSQL."""

import sqlalchemy as sa

from roost.store.base import ENDPOINTS, NEW_RUNS, RUNS, Store
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


def before_leases(connection: sa.Connection) -> None:
    """Revision 0011: runs and endpoints have leases in columns of their own. One run is held, others are due at 20, some need
    nobody; and one has an event."""
    upgrade(connection, "0011")
    put(connection, "workspaces", name="w")
    for number, (name, status) in enumerate(
        {
            "second": "NotStarted",
            "first": "NotStarted",
            "notebook": "NotStarted",
            "building": "Preparing",
            "waits": "Queued",
            "running": "Running",
            "done": "Completed",
        }.items()
    ):
        kind = "interactive" if name == "notebook" else "script"
        values = {"id": name, "workspace": "w", "status": status, "kind": kind, "number": number, "due_at": 20.0}
        if name == "running":
            values |= {"due_at": 50.0, "lease_token": "held", "lease_until": 50.0}
        put(connection, "runs", seq=number + 1, **values)
    put(connection, "run_events", id=1, run_seq=6, to="Running")
    put(connection, "endpoints", workspace="w", name="birds", port=1, due_at=20.0)


LEASES = {
    (NEW_RUNS, 19.0): [],
    (NEW_RUNS, 20.0): ["second", "first"],
    (RUNS, 49.0): ["building"],
    (RUNS, 50.0): ["running"],
    (ENDPOINTS, 19.0): [],
    (ENDPOINTS, 20.0): ["w/birds"],
}
"""What loops take of each noun, and when, once it is migrated."""


def leases_of(store: Store) -> dict[tuple[str, float], list[str]]:
    return {
        (noun, at): [lease.key for lease in store.leases.take(noun, at=at, seconds=1000.0, limit=10)]
        for noun, at in LEASES
    }
